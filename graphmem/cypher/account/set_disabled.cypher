// account.set_disabled: disable an account, or enable it again; no row if there is no such account.
//
// params  name: STRING, disabled: BOOLEAN
// returns account: LIST
// mode    write
// index   account_name
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {name: $name})
SET account.disabled = $disabled
RETURN <account._row> AS account
