// oauth.grant: allow a request for an account: make the grant and its code. No row if the request does not wait for a
// decision, or the account is disabled.
//
// `key_id`: the API key by which the person proved the account; the grant ends with it.
//
// params  digest: STRING, account_id: STRING, key_id: STRING, grant_id: STRING, scopes: LIST<STRING>, code_digest: STRING, browser:
//         STRING, now: INTEGER, expires_at: INTEGER, client_expires_at: INTEGER
// returns request: LIST
// mode    write
// index   oauth_request_digest, account_id, oauth_client_id
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
// The first SET takes the lock of the request before `granted_at` is read, so that of two decisions one holds.
MATCH (request:OAuthRequest {digest: $digest})
SET request.locked = true
WITH request
WHERE request.granted_at IS NULL AND request.expires_at > $now
MATCH (account:Account {id: $account_id})
WHERE NOT coalesce(account.disabled, false)
SET request.granted_at = $now, request.code_digest = $code_digest, request.browser = $browser
CREATE (account)-[:granted]->(grant:OAuthGrant {
  id: $grant_id, account_id: account.id, client_id: request.client_id, client_name: request.client_name, scopes: $scopes,
  resource: request.resource, can_refresh: request.can_refresh AND $scopes <> ['keys'], created_at: $now, expires_at: $expires_at
})
CREATE (grant)-[:issued]->(:OAuthCode {
  digest: $code_digest, redirect_uri: request.redirect_uri, code_challenge: request.code_challenge,
  expires_at: $expires_at
})
WITH request, account, grant
CALL (account, grant) {
  MATCH (account)-[:has_key]->(key:ApiKey)
  WHERE key.id = $key_id
  CREATE (key)-[:made]->(grant)
}
CALL (request) {
  OPTIONAL MATCH (client:OAuthClient)
  USING INDEX SEEK client:OAuthClient(id)
  WHERE client.id = request.client_id
  SET client.expires_at = $client_expires_at
}
RETURN <oauth._request> AS request
