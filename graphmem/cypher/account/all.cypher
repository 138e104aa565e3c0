// account.all: all accounts, by name.
//
// params  none
// returns account: LIST
// mode    read
// index   account_name
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account)
USING INDEX SEEK account:Account(name)
WHERE account.name >= ''
WITH account ORDER BY account.name
RETURN <account._row> AS account
