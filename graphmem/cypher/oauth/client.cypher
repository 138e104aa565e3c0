// oauth.client: what a client registered, as JSON.
//
// params  id: STRING
// returns metadata: STRING
// mode    read
// index   oauth_client_id
// cost    light
// sealing metadata: equal client
// tenancy global: what OAuth keeps belongs to the instance, and is no owner's data
MATCH (client:OAuthClient {id: $id})
RETURN client.metadata AS metadata
