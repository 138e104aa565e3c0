// oauth.of_token: the account and the grant of an access token, valid or not; no row for an unknown token.
//
// params  digest: STRING
// returns account: LIST, grant_id: STRING, client_name: STRING, scopes: LIST<STRING>, resource: STRING, expires_at: INTEGER, last_used_at:
//         INTEGER, revoked_at: INTEGER
// mode    read
// index   oauth_token_digest
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
MATCH (token:OAuthToken {digest: $digest})
WHERE token.kind = 'access'
MATCH (account:Account)-[:granted]->(grant:OAuthGrant)-[:issued]->(token)
// A grant ends with the key by which a person allowed it, and with those that made this key.
WITH account, grant, token, [(key:ApiKey)-[:made*1..9]->(grant) | key] AS keys
RETURN <account._row> AS account, grant.id AS grant_id, grant.client_name AS client_name, token.scopes AS scopes,
  token.resource AS resource,
  reduce(least = token.expires_at, key IN keys |
    CASE WHEN key.expires_at < least THEN key.expires_at ELSE least END) AS expires_at,
  grant.last_used_at AS last_used_at,
  reduce(least = grant.revoked_at, key IN keys | coalesce(least, key.revoked_at)) AS revoked_at
