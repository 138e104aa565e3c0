// account.guarded: whether an account that is not disabled has a password or a key that is not revoked.
//
// params  none
// returns guarded: BOOLEAN
// mode    read
// index   account_name
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
CALL () {
  MATCH (account:Account)
  USING INDEX SEEK account:Account(name)
  WHERE account.name >= '' AND NOT coalesce(account.disabled, false)
    AND (account.password IS NOT NULL OR EXISTS { (account)-[:has_key]->(key:ApiKey) WHERE key.revoked_at IS NULL })
  RETURN account LIMIT 1
}
RETURN count(account) > 0 AS guarded
