// oauth.request: an authorization request that waits for a decision; no row if there is none, or if it has expired.
//
// params  digest: STRING, now: INTEGER
// returns request: LIST
// mode    read
// index   oauth_request_digest
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
MATCH (request:OAuthRequest {digest: $digest})
WHERE request.granted_at IS NULL AND request.expires_at > $now
RETURN <oauth._request> AS request
