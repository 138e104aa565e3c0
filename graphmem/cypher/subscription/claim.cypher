// subscription.claim: take a subscription for a lease; no row if it is not due. `may_read` says whether the account and the
// credential that made it are in force and may read.
//
// params  id: STRING, now: INTEGER, latest: INTEGER, until: INTEGER, token: STRING
// returns subscription: LIST, may_read: BOOLEAN
// mode    write
// index   subscription_id
// cost    light
// tenancy global: the worker delivers to the subscriptions of all owners; each delivery acts for one of them
// The first SET takes the lock of the node, so that the time is read again after another process had it.
MATCH (subscription:Subscription {id: $id})
SET subscription.locked = null
WITH subscription WHERE subscription.due_at <= $now OR subscription.due_at > $latest
SET subscription.due_at = $until, subscription.token = $token
WITH subscription, [(account:Account)-[:subscribed]->(subscription) | account][0] AS account
WITH subscription, NOT coalesce(account.disabled, false) AND 'read' IN account.scopes
  AND (subscription.credential = ''
    OR any(key IN [(account)-[:has_key]->(key:ApiKey) | key] WHERE key.id = subscription.credential
      AND key.revoked_at IS NULL AND coalesce(key.expires_at > $now, true) AND 'read' IN key.scopes)
    OR any(grant IN [(account)-[:granted]->(grant:OAuthGrant) | grant] WHERE grant.id = subscription.credential
      AND grant.revoked_at IS NULL AND coalesce(grant.expires_at > $now, true) AND 'read' IN grant.scopes)) AS may_read
RETURN <subscription._row> AS subscription, may_read
