// One grant; in Python: graphmem.auth.grants.Grant. Takes `grant`.
[grant.id, grant.client_id, grant.client_name, grant.scopes, grant.resource, grant.created_at, grant.last_used_at,
  grant.redeemed_at, grant.expires_at, head([(key:ApiKey)-[:made]->(grant) | key.id])]
