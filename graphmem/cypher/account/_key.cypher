// One API key without its digest; in Python: graphmem.auth.accounts.ApiKey. Takes `key`. A key ends with the first of the
// keys that made it, so `expires_at` and `revoked_at` are the least of all of them. `made_by` is the id of the key that made it, or
// says through what a person did.
[key.id, key.name, key.scopes, key.created_at,
  reduce(least = key.expires_at, at IN [(maker:ApiKey)-[:made*1..8]->(key) | maker.expires_at] |
    CASE WHEN least < at OR at IS NULL THEN least ELSE at END),
  key.last_used_at,
  reduce(least = key.revoked_at, at IN [(maker:ApiKey)-[:made*1..8]->(key) | maker.revoked_at] |
    CASE WHEN least < at OR at IS NULL THEN least ELSE at END),
  coalesce(head([(maker:ApiKey)-[:made]->(key) | maker.id]), key.made_with)]
