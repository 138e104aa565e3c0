// oauth.connection: a grant of an account that is not revoked; no row if the account has no such grant.
//
// params  account_id: STRING, id: STRING
// returns grant: LIST
// mode    read
// index   oauth_grant_id
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
MATCH (grant:OAuthGrant {id: $id})
WHERE grant.account_id = $account_id AND grant.revoked_at IS NULL
RETURN <oauth._grant> AS grant
