// owner.lock: take an owner's write lock: for a transaction, or to wait until all earlier commits are visible.
//
// params  none
// returns sequence: INTEGER, revision: INTEGER, recorded_at: INTEGER
// mode    write
// index   owner_id
// cost    light
// The SET comes before any read, because it takes the lock: without it, another turn may change what was read. A
// reader without the lock may see the nodes of a commit before its index entries: Neo4j writes indexes last, and
// releases the lock after them.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
RETURN owner.sequence AS sequence, owner.revision AS revision, owner.recorded_at AS recorded_at
