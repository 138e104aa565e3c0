// account.create_key: store an API key of an account by its digest; no row if there is no such account. `key` is null if
// `maker_id` is the last of eight keys of which each made the next one. `made_with`, if `maker_id` is a grant: `page` for
// that of the page of this service, else its id. Such a key does not end with the grant.
//
// params  account_id: STRING, maker_id: STRING, id: STRING, digest: STRING, name: STRING, scopes: LIST<STRING>,
//         created_at: INTEGER, expires_at: INTEGER
// returns key: LIST
// mode    write
// index   account_id
// cost    light
// sealing name: equal client
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {id: $account_id})
OPTIONAL MATCH (account)-[:has_key]->(maker:ApiKey)
WHERE maker.id = $maker_id
CALL (account, maker) {
  WITH account, maker
  WHERE NOT EXISTS { (:ApiKey)-[:made*7]->(maker) }
  CREATE (account)-[:has_key]->(key:ApiKey {
    id: $id, digest: $digest, name: $name, scopes: $scopes, created_at: $created_at, expires_at: $expires_at,
    made_with: head([(account)-[:granted]->(grant:OAuthGrant) WHERE grant.id = $maker_id |
      CASE grant.client_id WHEN 'page' THEN 'page' ELSE grant.id END])
  })
  FOREACH (each IN CASE WHEN maker IS NULL THEN [] ELSE [maker] END | CREATE (each)-[:made]->(key))
  RETURN collect(key) AS made
}
WITH head(made) AS key
RETURN CASE WHEN key IS NULL THEN null ELSE <account._key> END AS key
