// account.agent_grants: the grants of an account's agents, newest first, revoked ones included.
//
// params  account_id: STRING
// returns grant: LIST
// mode    read
// index   account_id
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {id: $account_id})-[:has_agent_grant]->(grant:AgentGrant)
WITH grant ORDER BY grant.created_at DESC, grant.id
RETURN <account._agent_grant> AS grant
