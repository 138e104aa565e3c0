// copy.begin: make the data of an account part of a set of copies, unless it is in one; no row if there is no such account.
//
// params  account_id: STRING, set_id: STRING, copy_id: STRING
// returns set_id: STRING, copy_id: STRING
// mode    write
// index   account_id
// cost    light
// sealing set_id: clear, copy_id: clear
// tenancy global: copies belong to the instance, and each is of one account
// The first SET takes the lock of the account.
MATCH (account:Account {id: $account_id})
SET account.locked = true
SET account.set_id = coalesce(account.set_id, $set_id), account.copy_id = coalesce(account.copy_id, $copy_id)
RETURN account.set_id AS set_id, account.copy_id AS copy_id
