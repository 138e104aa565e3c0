// account.restore: create an account of a dump, if its name is free; give the local account the password, if it has no
// credential.
//
// params  id: STRING, name: STRING, owner_id: STRING, scopes: LIST<STRING>, password: STRING, disabled: BOOLEAN,
//         created_at: INTEGER
// returns account: LIST
// mode    write
// index   account_name
// cost    light
// sealing name: clear
// tenancy global: accounts belong to the instance, and no account is an owner's data
MERGE (account:Account {name: $name})
ON CREATE SET account.id = $id, account.owner = $owner_id, account.scopes = $scopes, account.disabled = $disabled,
  account.created_at = $created_at, account.password = $password
WITH account, account.id = $id AND account.password IS NULL AND NOT EXISTS { (account)-[:has_key|granted]->() } AS takes
FOREACH (bare IN CASE WHEN takes THEN [account] ELSE [] END | SET bare.password = $password)
RETURN <account._row> AS account
