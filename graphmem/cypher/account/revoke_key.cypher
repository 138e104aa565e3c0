// account.revoke_key: revoke an API key of an account; no row if the account has no such key.
//
// params  account_id: STRING, id: STRING, revoked_at: INTEGER
// returns key: LIST
// mode    write
// index   account_id
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {id: $account_id})-[:has_key]->(key:ApiKey)
WHERE key.id = $id
SET key.revoked_at = coalesce(key.revoked_at, $revoked_at)
RETURN <account._key> AS key
