// oauth.revoke: end a grant of an account, with all its tokens; no row if the account has no such grant, or it was
// revoked.
//
// params  account_id: STRING, id: STRING, now: INTEGER
// returns grant: LIST
// mode    write
// index   oauth_grant_id
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
MATCH (grant:OAuthGrant {id: $id})
WHERE grant.account_id = $account_id AND grant.revoked_at IS NULL
SET grant.revoked_at = $now
RETURN <oauth._grant> AS grant
