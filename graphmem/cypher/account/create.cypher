// account.create: create an account, whose owner has the same id; no row if the name is taken.
//
// params  id: STRING, name: STRING, scopes: LIST<STRING>, password: STRING, created_at: INTEGER
// returns account: LIST
// mode    write
// index   account_name
// cost    light
// sealing name: clear
// tenancy global: accounts belong to the instance, and no account is an owner's data
MERGE (account:Account {name: $name})
ON CREATE SET account.id = $id, account.owner = $id, account.scopes = $scopes, account.password = $password,
  account.created_at = $created_at
WITH account WHERE account.id = $id
RETURN <account._row> AS account
