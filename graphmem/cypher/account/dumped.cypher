// account.dumped: the accounts of the instance, by name, with the hashes of their passwords; those that are being erased
// are left out.
//
// params  none
// returns accounts: LIST<LIST>
// mode    read
// index   account_name
// cost    light
// tenancy global: accounts belong to the instance; only a dump of all owners has them
MATCH (account:Account)
USING INDEX SEEK account:Account(name)
WHERE account.name >= '' AND account.erased_at IS NULL
WITH account ORDER BY account.name
RETURN collect(<account._record>) AS accounts
