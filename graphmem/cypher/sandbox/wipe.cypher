// sandbox.wipe: give the shared account a new owner and close the one before, if the last wipe was before a time; no row
// if it was not.
//
// params  name: STRING, owner_id: STRING, before: INTEGER, now: INTEGER
// returns retired: STRING
// mode    write
// index   account_name, owner_id
// cost    light
// sealing name: clear, retired: clear
// tenancy global: the shared account belongs to the instance, and is no owner's data
// The first SET takes the lock of the account before it is read, so that of several processes one wipes. The owner before
// has no revision afterwards, so that no write for it ends well after this statement.
MATCH (account:Account {name: $name})
SET account.locked = true
WITH account, account.owner AS retired
WHERE account.wiped_at < $before
SET account.owner = $owner_id, account.wiped_at = $now, account.is_seeded = false, account.retired = account.retired + retired
MERGE (owner:Owner {id: retired})
SET owner.erased_at = coalesce(owner.erased_at, $now), owner.revision = null
RETURN retired
