// account.owners_without: some owners who have stored something and have no account, by id.
//
// params  limit: INTEGER
// returns owners: LIST<STRING>
// mode    read
// index   owner_id, account_owner
// cost    light
// tenancy global: accounts belong to the instance; only a local command lists the owners without one
MATCH (owner:Owner)
USING INDEX SEEK owner:Owner(id)
WHERE owner.id > ''
OPTIONAL MATCH (account:Account {owner: owner.id})
WITH owner, account WHERE account IS NULL AND owner.sequence > 0
WITH owner ORDER BY owner.id LIMIT $limit
RETURN collect(owner.id) AS owners
