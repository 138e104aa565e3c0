// One API key without its digest; in Python: graphmem.auth.accounts.ApiKey. Takes `key`.
[key.id, key.name, key.scopes, key.created_at, key.expires_at, key.last_used_at, key.revoked_at]
