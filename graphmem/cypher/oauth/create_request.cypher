// oauth.create_request: keep an authorization request until a person decides on it.
//
// params  digest: STRING, client_id: STRING, client_name: STRING, redirect_uri: STRING, state: STRING,
//         code_challenge: STRING, resource: STRING, scopes: LIST<STRING>, can_refresh: BOOLEAN, expires_at: INTEGER
// returns expires_at: INTEGER
// mode    write
// index   none
// cost    light
// sealing redirect_uri: equal redirect, state: equal state
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
CREATE (request:OAuthRequest {
  digest: $digest, client_id: $client_id, client_name: $client_name, redirect_uri: $redirect_uri, state: $state,
  code_challenge: $code_challenge, resource: $resource, scopes: $scopes, can_refresh: $can_refresh,
  expires_at: $expires_at
})
RETURN request.expires_at AS expires_at
