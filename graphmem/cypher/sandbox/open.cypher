// sandbox.open: make the shared account of a public sandbox, with its first owner, unless it is there.
//
// params  name: STRING, id: STRING, owner_id: STRING, now: INTEGER
// returns owner: STRING, wiped_at: INTEGER, is_seeded: BOOLEAN, retired: LIST<STRING>
// mode    write
// index   account_name
// cost    light
// sealing name: clear, retired: clear
// tenancy global: the shared account belongs to the instance, and is no owner's data
MERGE (account:Account {name: $name})
ON CREATE SET account.id = $id, account.owner = $owner_id, account.scopes = ['read', 'write'], account.created_at = $now,
  account.wiped_at = $now, account.is_seeded = false, account.retired = [], account.leased_until = 0
RETURN account.owner AS owner, account.wiped_at AS wiped_at, account.is_seeded AS is_seeded, account.retired AS retired
