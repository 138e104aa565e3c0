// account.set_password: set the password of an account, or take it away; no row if there is no such account, or if it
// is being deleted with its data.
//
// params  name: STRING, password: STRING
// returns account: LIST
// mode    write
// index   account_name
// cost    light
// sealing name: clear
// tenancy global: accounts belong to the instance, and no account is an owner's data
// The first SET takes the lock of the account, so that a deletion comes entirely before or entirely after this.
MATCH (account:Account {name: $name})
SET account.locked = true
WITH account
WHERE account.erased_at IS NULL
SET account.password = $password
RETURN <account._row> AS account
