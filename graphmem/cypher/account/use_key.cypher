// account.use_key: note when an API key was used last.
//
// params  digest: STRING, used_at: INTEGER
// returns used: BOOLEAN
// mode    write
// index   api_key_digest
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (key:ApiKey {digest: $digest})
SET key.last_used_at = $used_at
RETURN true AS used
