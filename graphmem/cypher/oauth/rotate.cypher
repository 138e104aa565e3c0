// oauth.rotate: exchange a refresh token for new tokens, once. A token that was used `grace` microseconds ago or
// longer, or whose successor was used, ends its grant. `outcome` is valid, or names the failure; no row for an unknown token.
//
// params  digest: STRING, client_id: STRING, resource: STRING, scopes: LIST<STRING>, access_digest: STRING,
//         access_expires_at: INTEGER, refresh_digest: STRING, refresh_expires_at: INTEGER, grace: INTEGER, now:
//         INTEGER
// returns outcome: STRING, grant_id: STRING, can_refresh: BOOLEAN, scopes: LIST<STRING>
// mode    write
// index   oauth_token_digest
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
// The first SET takes the lock of the token before `used_at` is read, so that callers come one after the other.
// `successors` has the digests of the refresh tokens that a token was exchanged for: two windows of one client that
// refresh at once get one each, and so does a client that asks again because the answer was lost.
MATCH (token:OAuthToken {digest: $digest})
MATCH (account:Account)-[:granted]->(grant:OAuthGrant)-[:issued]->(token)
SET token.locked = true
WITH token, grant,
  CASE
    WHEN token.kind <> 'refresh' THEN 'kind'
    WHEN abs($now - token.used_at) >= $grace OR EXISTS {
      MATCH (successor:OAuthToken)
      WHERE successor.digest IN token.successors AND successor.used_at IS NOT NULL
    } THEN 'replayed'
    WHEN grant.revoked_at IS NOT NULL OR coalesce(account.disabled, false) THEN 'ended'
    WHEN token.expires_at <= $now THEN 'expired'
    WHEN $client_id IS NOT NULL AND grant.client_id <> $client_id THEN 'client'
    WHEN NOT ($resource IS NULL OR $resource = grant.resource OR $resource STARTS WITH grant.resource + '/')
      THEN 'resource'
    WHEN any(scope IN coalesce($scopes, []) WHERE NOT scope IN grant.scopes) THEN 'scope'
    ELSE 'valid'
  END AS outcome
FOREACH (used IN CASE WHEN outcome = 'valid' THEN [token] ELSE [] END |
  SET used.used_at = coalesce(used.used_at, $now),
    used.successors = coalesce(used.successors, []) + $refresh_digest
)
FOREACH (ended IN CASE WHEN outcome = 'replayed' THEN [grant] ELSE [] END |
  SET ended.revoked_at = coalesce(ended.revoked_at, $now)
)
FOREACH (valid IN CASE WHEN outcome = 'valid' THEN [grant] ELSE [] END |
  SET valid.redeemed_at = coalesce(valid.redeemed_at, $now), valid.last_used_at = $now,
    valid.expires_at = CASE WHEN valid.can_refresh THEN $refresh_expires_at ELSE $access_expires_at END
  CREATE (valid)-[:issued]->(:OAuthToken {
    digest: $access_digest, kind: 'access', scopes: coalesce($scopes, valid.scopes),
    resource: coalesce($resource, valid.resource), expires_at: $access_expires_at
  })
)
FOREACH (refreshable IN CASE WHEN outcome = 'valid' AND grant.can_refresh THEN [grant] ELSE [] END |
  CREATE (refreshable)-[:issued]->(:OAuthToken {
    digest: $refresh_digest, kind: 'refresh', expires_at: $refresh_expires_at
  })
)
RETURN outcome, grant.id AS grant_id, grant.can_refresh AS can_refresh, coalesce($scopes, grant.scopes) AS scopes
