// oauth.finish_request: end a request that was allowed, once; no row for another code or another browser.
//
// params  digest: STRING, code_digest: STRING, browser: STRING, now: INTEGER
// returns request: LIST
// mode    write
// index   oauth_request_digest
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
// The first SET takes the lock of the request before `finished_at` is read, so that of two callers one gets the row.
MATCH (request:OAuthRequest {digest: $digest})
SET request.locked = true
WITH request
WHERE request.code_digest = $code_digest AND request.browser = $browser AND request.finished_at IS NULL
  AND request.expires_at > $now
SET request.finished_at = $now
RETURN <oauth._request> AS request
