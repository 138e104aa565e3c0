// account.delete: delete an account with its keys, codes and grants; its owner's data stays. No row if there is no such
// account.
//
// params  name: STRING
// returns keys: INTEGER, grants: INTEGER
// mode    write
// index   account_name
// cost    light
// sealing name: clear
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {name: $name})
<account._credentials>
FOREACH (node IN keys + codes + account | DETACH DELETE node)
RETURN key_count AS keys, grant_count AS grants
