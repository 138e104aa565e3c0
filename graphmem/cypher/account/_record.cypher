// One account as a record of a dump; in Python: graphmem.dump.stored.StoredAccount. Takes `account`.
[account.id, account.name, account.owner, account.scopes, account.password, coalesce(account.disabled, false)]
