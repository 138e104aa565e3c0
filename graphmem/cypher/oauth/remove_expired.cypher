// oauth.remove_expired: remove what has expired before a time: some of each kind.
//
// params  before: INTEGER, limit: INTEGER
// returns removed: BOOLEAN
// mode    write
// index   oauth_request_expires_at, oauth_token_expires_at, oauth_grant_expires_at, oauth_client_expires_at
// cost    light
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
CALL () {
  MATCH (request:OAuthRequest)
  USING INDEX SEEK request:OAuthRequest(expires_at)
  WHERE request.expires_at < $before
  WITH request LIMIT $limit
  DETACH DELETE request
}
CALL () {
  MATCH (token:OAuthToken)
  USING INDEX SEEK token:OAuthToken(expires_at)
  WHERE token.expires_at < $before
  WITH token LIMIT $limit
  DETACH DELETE token
}
CALL () {
  MATCH (client:OAuthClient)
  USING INDEX SEEK client:OAuthClient(expires_at)
  WHERE client.expires_at < $before
  WITH client LIMIT $limit
  DETACH DELETE client
}
CALL () {
  MATCH (grant:OAuthGrant)
  USING INDEX SEEK grant:OAuthGrant(expires_at)
  WHERE grant.expires_at < $before
  WITH grant LIMIT $limit
  WHERE NOT EXISTS { (grant)-[:issued]->(:OAuthToken) }
  OPTIONAL MATCH (grant)-[:issued]->(code:OAuthCode)
  DETACH DELETE code, grant
}
RETURN true AS removed
