// account.set_password: set the password of an account, or take it away; no row if there is no such account.
//
// params  name: STRING, password: STRING
// returns account: LIST
// mode    write
// index   account_name
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {name: $name})
SET account.password = $password
RETURN <account._row> AS account
