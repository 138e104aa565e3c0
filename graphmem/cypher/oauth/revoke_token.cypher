// oauth.revoke_token: end an access token, or with a refresh token its grant; no row for a token that is unknown or
// of another client.
//
// params  digest: STRING, client_id: STRING, now: INTEGER
// returns kind: STRING, grant_id: STRING
// mode    write
// index   oauth_token_digest
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
MATCH (token:OAuthToken {digest: $digest})
MATCH (grant:OAuthGrant)-[:issued]->(token)
WHERE $client_id IS NULL OR grant.client_id = $client_id
SET token.expires_at = CASE WHEN token.kind = 'access' THEN $now ELSE token.expires_at END,
  grant.revoked_at = CASE WHEN token.kind = 'refresh' THEN coalesce(grant.revoked_at, $now) ELSE grant.revoked_at END
RETURN token.kind AS kind, grant.id AS grant_id
