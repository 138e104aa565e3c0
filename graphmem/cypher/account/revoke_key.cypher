// account.revoke_key: revoke an API key of an account; no row if the account has no such key. `outcome` is `ended`, or
// nothing changed: `children` if the key made keys or grants that are in force and `children` is empty; `last` if with it
// the last key would end that has the scope admin, of an account without a password.
//
// With `children` `end` they end with it, as what a key made ends with the key; with `keep` its maker takes its place.
//
// params  account_id: STRING, id: STRING, revoked_at: INTEGER, children: STRING, spares_admin: BOOLEAN
// returns key: LIST, outcome: STRING
// mode    write
// index   account_id
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
// The first SET takes the lock of the account, so that of the last two keys one stays.
MATCH (account:Account {id: $account_id})
SET account.locked = true
WITH account
MATCH (account)-[:has_key]->(key:ApiKey)
WHERE key.id = $id
WITH account, key, key.revoked_at IS NULL AS is_new,
  [(key)-[:made]->(child:ApiKey|OAuthGrant) WHERE child.revoked_at IS NULL
    AND coalesce(child.expires_at > $revoked_at, true) | child] AS children,
  [key] + CASE WHEN $children = 'keep' THEN [] ELSE [(key)-[:made*1..8]->(child:ApiKey) | child] END AS ending
WITH *, [(account)-[:has_key]->(other:ApiKey) WHERE 'admin' IN other.scopes AND NOT other IN ending AND all(each IN
    [other] + [(maker:ApiKey)-[:made*1..8]->(other) | maker]
    WHERE each.revoked_at IS NULL AND coalesce(each.expires_at > $revoked_at, true)) | other.id] AS admins
WITH *, CASE
  WHEN is_new AND size(children) > 0 AND $children = '' THEN 'children'
  WHEN is_new AND $spares_admin AND 'admin' IN account.scopes AND account.password IS NULL AND size(admins) = 0
    AND any(each IN ending WHERE 'admin' IN each.scopes) THEN 'last'
  ELSE 'ended' END AS outcome
CALL (key, outcome) {
  WITH key, outcome WHERE outcome = 'ended'
  SET key.revoked_at = coalesce(key.revoked_at, $revoked_at)
  WITH key WHERE $children = 'keep'
  MATCH (key)-[edge:made]->(child)
  OPTIONAL MATCH (maker:ApiKey)-[:made]->(key)
  FOREACH (each IN CASE WHEN maker IS NULL THEN [] ELSE [maker] END | CREATE (each)-[:made]->(child))
  SET child.made_with = key.made_with
  DELETE edge
}
RETURN <account._key> AS key, outcome
