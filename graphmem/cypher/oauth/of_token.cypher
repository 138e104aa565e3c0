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
RETURN <account._row> AS account, grant.id AS grant_id, grant.client_name AS client_name, token.scopes AS scopes, token.resource AS resource,
  token.expires_at AS expires_at, grant.last_used_at AS last_used_at, grant.revoked_at AS revoked_at
