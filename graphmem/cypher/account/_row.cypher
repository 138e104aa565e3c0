// One account; in Python: graphmem.auth.accounts.Account. Takes `account`.
[account.id, account.name, account.owner, account.scopes, account.password IS NOT NULL,
  coalesce(account.disabled, false), account.created_at, account.erased_at IS NOT NULL]
