// account.set_agent_grant: change the status of an agent's grant, unless it is revoked; no row if the account has none
// of this id.
//
// params  account_id: STRING, id: STRING, status: STRING
// returns grant: LIST
// mode    write
// index   account_id
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {id: $account_id})-[:has_agent_grant]->(grant:AgentGrant)
WHERE grant.id = $id
SET grant.status = CASE grant.status WHEN 'revoked' THEN 'revoked' ELSE $status END
RETURN <account._agent_grant> AS grant
