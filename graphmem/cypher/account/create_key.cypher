// account.create_key: store an API key of an account by its digest; no row if there is no such account.
//
// params  account_id: STRING, id: STRING, digest: STRING, name: STRING, scopes: LIST<STRING>, created_at: INTEGER,
//         expires_at: INTEGER
// returns key: LIST
// mode    write
// index   account_id
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {id: $account_id})
CREATE (account)-[:has_key]->(key:ApiKey {
  id: $id, digest: $digest, name: $name, scopes: $scopes, created_at: $created_at, expires_at: $expires_at
})
RETURN <account._key> AS key
