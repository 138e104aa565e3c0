// Who may call: accounts, their keys and one-time codes, and what OAuth keeps of clients and grants. The local account
// has the nil UUID, as its owner has.
CREATE CONSTRAINT account_id IF NOT EXISTS FOR (n:Account) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT account_name IF NOT EXISTS FOR (n:Account) REQUIRE n.name IS UNIQUE;
CREATE CONSTRAINT account_owner IF NOT EXISTS FOR (n:Account) REQUIRE n.owner IS UNIQUE;
CREATE CONSTRAINT api_key_digest IF NOT EXISTS FOR (n:ApiKey) REQUIRE n.digest IS UNIQUE;
CREATE CONSTRAINT one_time_code_digest IF NOT EXISTS FOR (n:OneTimeCode) REQUIRE n.digest IS UNIQUE;
CREATE CONSTRAINT oauth_client_id IF NOT EXISTS FOR (n:OAuthClient) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT oauth_request_digest IF NOT EXISTS FOR (n:OAuthRequest) REQUIRE n.digest IS UNIQUE;
CREATE CONSTRAINT oauth_grant_id IF NOT EXISTS FOR (n:OAuthGrant) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT oauth_code_digest IF NOT EXISTS FOR (n:OAuthCode) REQUIRE n.digest IS UNIQUE;
CREATE CONSTRAINT oauth_token_digest IF NOT EXISTS FOR (n:OAuthToken) REQUIRE n.digest IS UNIQUE;
MERGE (account:Account {id: '00000000-0000-0000-0000-000000000000'})
ON CREATE SET account.name = 'local', account.owner = '00000000-0000-0000-0000-000000000000',
  account.scopes = ['read', 'write', 'admin'], account.created_at = timestamp() * 1000;
