// account.by_name: the account of a name, with the hash of its password.
//
// params  name: STRING
// returns account: LIST, password: STRING
// mode    read
// index   account_name
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {name: $name})
RETURN <account._row> AS account, account.password AS password
