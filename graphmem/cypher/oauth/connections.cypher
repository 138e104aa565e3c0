// oauth.connections: the grants of an account that have tokens and are not revoked, newest first.
//
// params  account_id: STRING, now: INTEGER
// returns grant: LIST
// mode    read
// index   account_id
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
MATCH (account:Account {id: $account_id})-[:granted]->(grant:OAuthGrant)
// coalesce keeps the planner from the index of `expires_at`, which has the grants of all accounts.
WHERE grant.redeemed_at IS NOT NULL AND grant.revoked_at IS NULL AND coalesce(grant.expires_at, 0) > $now
  AND all(key IN [(key:ApiKey)-[:made*1..9]->(grant) | key]
    WHERE key.revoked_at IS NULL AND coalesce(key.expires_at > $now, true))
WITH grant ORDER BY grant.created_at DESC, grant.id
RETURN <oauth._grant> AS grant
