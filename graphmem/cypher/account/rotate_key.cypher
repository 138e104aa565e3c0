// account.rotate_key: put a new API key in the place of one that is not revoked: it has its name, scopes, expiry and
// maker, and what the old key made. No row if the account has no such key.
//
// params  account_id: STRING, id: STRING, new_id: STRING, digest: STRING, created_at: INTEGER
// returns key: LIST
// mode    write
// index   account_id
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
// The first SET takes the lock of the account, so that a key is rotated once.
MATCH (account:Account {id: $account_id})
SET account.locked = true
WITH account
MATCH (account)-[:has_key]->(old:ApiKey)
WHERE old.id = $id AND old.revoked_at IS NULL
SET old.revoked_at = $created_at
CREATE (account)-[:has_key]->(key:ApiKey {
  id: $new_id, digest: $digest, name: old.name, scopes: old.scopes, created_at: $created_at, expires_at: old.expires_at,
  made_with: old.made_with
})
WITH old, key
CALL (old, key) {
  MATCH (maker:ApiKey)-[:made]->(old)
  CREATE (maker)-[:made]->(key)
}
CALL (old, key) {
  MATCH (old)-[edge:made]->(child)
  CREATE (key)-[:made]->(child)
  DELETE edge
}
RETURN <account._key> AS key
