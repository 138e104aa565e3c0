// account.by_id: the account of an id.
//
// params  id: STRING
// returns account: LIST
// mode    read
// index   account_id
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {id: $id})
RETURN <account._row> AS account
