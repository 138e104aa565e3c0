// account.redeem_code: redeem a one-time code: its account, once; no row for a code that is unknown, used or expired.
//
// params  digest: STRING, now: INTEGER
// returns account: LIST
// mode    write
// index   one_time_code_digest
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
// The first SET takes the lock of the code before `used_at` is read, so that of two callers one gets the row.
MATCH (code:OneTimeCode {digest: $digest})
MATCH (account:Account)-[:has_code]->(code)
SET code.locked = true
WITH account, code
WHERE code.used_at IS NULL AND code.expires_at > $now
SET code.used_at = $now
RETURN <account._row> AS account
