// sandbox.lease: let one process go on with a wipe until a time; no row while another one does.
//
// params  name: STRING, holder: STRING, now: INTEGER, until: INTEGER
// returns holder: STRING
// mode    write
// index   account_name
// cost    light
// sealing name: clear
// tenancy global: the shared account belongs to the instance, and is no owner's data
MATCH (account:Account {name: $name})
SET account.locked = true
WITH account
WHERE account.leased_until < $now OR account.leased_by = $holder
SET account.leased_until = $until, account.leased_by = $holder
RETURN $holder AS holder
