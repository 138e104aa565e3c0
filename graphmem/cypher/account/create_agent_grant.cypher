// account.create_agent_grant: store what an agent may do for an account; no row if there is no such account.
//
// params  account_id: STRING, id: STRING, label: STRING, thumbprint: STRING, issuer: STRING, subject: STRING,
//         capabilities: STRING, created_at: INTEGER
// returns grant: LIST
// mode    write
// index   account_id
// cost    light
// sealing issuer: sealed at id, label: sealed at id, subject: sealed at id
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {id: $account_id})
CREATE (account)-[:has_agent_grant]->(grant:AgentGrant {
  id: $id, label: $label, thumbprint: $thumbprint, issuer: $issuer, subject: $subject, capabilities: $capabilities,
  status: 'active', created_at: $created_at
})
RETURN <account._agent_grant> AS grant
