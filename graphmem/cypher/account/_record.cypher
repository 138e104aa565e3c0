// One account as a record of a dump; in Python: graphmem.dump.records.AccountRecord. Takes `account`.
[account.id, account.name, account.owner, account.scopes, account.password, coalesce(account.disabled, false)]
