// owner.lock: take an owner's write lock inside a transaction, for a turn that lost twice to another process.
//
// params  none
// returns sequence: INTEGER
// mode    write
// index   owner_id
// cost    light
// The SET before anything is read takes the lock: reading first and writing then loses updates.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
RETURN owner.sequence AS sequence
