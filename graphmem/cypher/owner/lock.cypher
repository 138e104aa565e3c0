// owner.lock: take an owner's write lock: for a transaction, or to wait until all earlier commits are visible.
//
// params  none
// returns sequence: INTEGER, revision: INTEGER
// mode    write
// index   owner_id
// cost    light
// The SET comes before any read, because it takes the lock: a read before it could be of a state that another turn
// changes. A reader without the lock may see the nodes of a commit before its index entries: Neo4j writes indexes
// last, and releases the lock after them.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
RETURN owner.sequence AS sequence, owner.revision AS revision
