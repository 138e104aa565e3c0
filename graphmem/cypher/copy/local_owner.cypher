// copy.local_owner: the owner of the account of this machine's user, which is another one since the account joined a copy.
//
// params  account_id: STRING
// returns owner_id: STRING
// mode    read
// index   account_id
// cost    light
// tenancy global: the account belongs to the instance
OPTIONAL MATCH (account:Account {id: $account_id})
RETURN coalesce(account.owner, $account_id) AS owner_id
