// account.close: end an account that is deleted with its data: no credential of it works any more. Erase its keys, codes
// and grants; no row if there is no such account.
//
// params  name: STRING, erased_at: INTEGER
// returns account: LIST, keys: INTEGER, grants: INTEGER
// mode    write
// index   account_name
// cost    light
// sealing name: clear
// tenancy global: accounts belong to the instance, and no account is an owner's data
// The account itself stays until its data is erased, so that its name still leads to the owner.
MATCH (account:Account {name: $name})
SET account.disabled = true, account.erased_at = coalesce(account.erased_at, $erased_at), account.password = null
WITH account
<account._credentials>
FOREACH (node IN keys + codes | DETACH DELETE node)
RETURN <account._row> AS account, key_count AS keys, grant_count AS grants
