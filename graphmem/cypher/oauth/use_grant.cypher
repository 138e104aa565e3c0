// oauth.use_grant: note when a grant was used last.
//
// params  id: STRING, used_at: INTEGER
// returns used: BOOLEAN
// mode    write
// index   oauth_grant_id
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
MATCH (grant:OAuthGrant {id: $id})
SET grant.last_used_at = $used_at
RETURN true AS used
