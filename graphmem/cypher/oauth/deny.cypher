// oauth.deny: end a request that waits for a decision; no row if there is none.
//
// params  digest: STRING, now: INTEGER
// returns request: LIST
// mode    write
// index   oauth_request_digest
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
// The first SET takes the lock of the request before `granted_at` is read, so that of two decisions one holds.
MATCH (request:OAuthRequest {digest: $digest})
SET request.locked = true
WITH request
WHERE request.granted_at IS NULL AND request.expires_at > $now
WITH request, <oauth._request> AS row
DETACH DELETE request
RETURN row AS request
