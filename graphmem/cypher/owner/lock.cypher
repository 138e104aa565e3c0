// owner.lock: take an owner's write lock, for a transaction, or to wait until all commits before it are seen whole.
//
// params  none
// returns sequence: INTEGER, revision: INTEGER
// mode    write
// index   owner_id
// cost    light
// The SET before anything is read takes the lock: reading first and writing then loses updates. A reader without it may
// see a commit's nodes before what is found by an index: Neo4j writes indexes last, and lets go of the lock after them.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
RETURN owner.sequence AS sequence, owner.revision AS revision
