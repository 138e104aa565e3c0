// sandbox.state: the owner of the shared account of a public sandbox, and how far its last wipe is; no row before the
// first one.
//
// params  name: STRING
// returns owner: STRING, wiped_at: INTEGER, is_seeded: BOOLEAN, retired: LIST<STRING>
// mode    read
// index   account_name
// cost    light
// sealing retired: clear
// tenancy global: the shared account belongs to the instance, and is no owner's data
MATCH (account:Account {name: $name})
RETURN account.owner AS owner, account.wiped_at AS wiped_at, account.is_seeded AS is_seeded, account.retired AS retired
