// oauth.redeem_code: redeem a code: its tokens, once. Every failure burns the code and ends its grant. `outcome` is
// valid, or names the failure; no row for an unknown code. The scope `keys` is that of the first access token alone, which
// then ends at `keys_expires_at`: no refresh gives it again.
//
// params  digest: STRING, challenge: STRING, client_id: STRING, redirect_uri: STRING, resource: STRING, scopes:
//         LIST<STRING>, access_digest: STRING, access_expires_at: INTEGER, keys_expires_at: INTEGER, refresh_digest: STRING,
//         refresh_expires_at: INTEGER, now: INTEGER
// returns outcome: STRING, grant_id: STRING, can_refresh: BOOLEAN, scopes: LIST<STRING>
// mode    write
// index   oauth_code_digest
// cost    light
// sealing redirect_uri: equal redirect
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
// The first SET takes the lock of the code before `used_at` is read, so that of two callers one gets tokens.
MATCH (code:OAuthCode {digest: $digest})
MATCH (account:Account)-[:granted]->(grant:OAuthGrant)-[:issued]->(code)
SET code.locked = true
WITH code, grant,
  CASE
    WHEN code.used_at IS NOT NULL THEN 'replayed'
    WHEN grant.revoked_at IS NOT NULL OR coalesce(account.disabled, false) THEN 'ended'
    WHEN code.expires_at <= $now THEN 'expired'
    WHEN $client_id IS NOT NULL AND grant.client_id <> $client_id THEN 'client'
    WHEN $redirect_uri IS NOT NULL AND code.redirect_uri <> $redirect_uri THEN 'redirect_uri'
    WHEN code.code_challenge <> $challenge THEN 'verifier'
    WHEN NOT ($resource IS NULL OR $resource = grant.resource OR $resource STARTS WITH grant.resource + '/')
      THEN 'resource'
    WHEN any(scope IN coalesce($scopes, []) WHERE NOT scope IN grant.scopes) THEN 'scope'
    ELSE 'valid'
  END AS outcome, coalesce($scopes, grant.scopes) AS scopes,
  CASE WHEN 'keys' IN coalesce($scopes, grant.scopes) THEN $keys_expires_at ELSE $access_expires_at END AS access_expires_at
SET code.used_at = coalesce(code.used_at, $now)
FOREACH (ended IN CASE WHEN outcome <> 'valid' THEN [grant] ELSE [] END |
  SET ended.revoked_at = coalesce(ended.revoked_at, $now)
)
FOREACH (valid IN CASE WHEN outcome = 'valid' THEN [grant] ELSE [] END |
  SET valid.redeemed_at = coalesce(valid.redeemed_at, $now), valid.last_used_at = $now,
    valid.expires_at = CASE WHEN valid.can_refresh THEN $refresh_expires_at ELSE access_expires_at END,
    valid.scopes = [scope IN valid.scopes WHERE scope <> 'keys']
  CREATE (valid)-[:issued]->(:OAuthToken {
    digest: $access_digest, kind: 'access', scopes: scopes,
    resource: coalesce($resource, valid.resource), expires_at: access_expires_at
  })
)
FOREACH (refreshable IN CASE WHEN outcome = 'valid' AND grant.can_refresh THEN [grant] ELSE [] END |
  CREATE (refreshable)-[:issued]->(:OAuthToken {
    digest: $refresh_digest, kind: 'refresh', expires_at: $refresh_expires_at
  })
)
RETURN outcome, grant.id AS grant_id, grant.can_refresh AS can_refresh, scopes
