// sandbox.seeded: note that the first world of the shared account's owner is stored; no row if it has another owner now.
//
// params  name: STRING, owner_id: STRING
// returns owner: STRING
// mode    write
// index   account_name
// cost    light
// sealing name: clear
// tenancy global: the shared account belongs to the instance, and is no owner's data
MATCH (account:Account {name: $name})
WHERE account.owner = $owner_id
SET account.is_seeded = true
RETURN account.owner AS owner
