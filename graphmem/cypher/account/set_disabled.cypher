// account.set_disabled: disable an account, or enable it again; no row if there is no such account, or if
// it is being deleted with its data.
//
// params  name: STRING, disabled: BOOLEAN
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
SET account.disabled = $disabled
RETURN <account._row> AS account
