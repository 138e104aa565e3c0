// What expires is removed by these: requests, tokens, grants and clients of OAuth.
CREATE INDEX oauth_request_expires_at IF NOT EXISTS FOR (n:OAuthRequest) ON (n.expires_at);
CREATE INDEX oauth_token_expires_at IF NOT EXISTS FOR (n:OAuthToken) ON (n.expires_at);
CREATE INDEX oauth_grant_expires_at IF NOT EXISTS FOR (n:OAuthGrant) ON (n.expires_at);
CREATE INDEX oauth_client_expires_at IF NOT EXISTS FOR (n:OAuthClient) ON (n.expires_at);
