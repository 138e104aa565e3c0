// oauth.count_attempt: count an attempt to allow a request; no row if it does not wait for a decision, or had too
// many attempts.
//
// params  digest: STRING, limit: INTEGER, now: INTEGER
// returns request: LIST
// mode    write
// index   oauth_request_digest
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
// The first SET takes the lock of the request before `attempts` is read, so that attempts at once are all counted.
MATCH (request:OAuthRequest {digest: $digest})
SET request.locked = true
WITH request
WHERE request.granted_at IS NULL AND request.expires_at > $now AND coalesce(request.attempts, 0) < $limit
SET request.attempts = coalesce(request.attempts, 0) + 1
RETURN <oauth._request> AS request
