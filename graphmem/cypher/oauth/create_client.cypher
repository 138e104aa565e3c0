// oauth.create_client: keep what a client registered, unless there are too many clients: then no row.
//
// params  id: STRING, metadata: STRING, limit: INTEGER, created_at: INTEGER, expires_at: INTEGER
// returns created_at: INTEGER
// mode    write
// index   none
// cost    light
// sealing metadata: equal client
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
MATCH (client:OAuthClient)
WITH count(client) AS clients
WHERE clients < $limit
CREATE (client:OAuthClient {id: $id, metadata: $metadata, created_at: $created_at, expires_at: $expires_at})
RETURN client.created_at AS created_at
