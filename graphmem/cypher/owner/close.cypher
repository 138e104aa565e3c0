// owner.close: mark an owner whose data is being erased, so that nothing is written for the owner any more.
//
// params  erased_at: INTEGER
// returns closed: BOOLEAN
// mode    write
// index   owner_id
// cost    light
// Without a revision, no turn finds the revision that it read. The MERGE waits for the turn that holds the owner's lock.
// An owner who has written nothing gets a node as well, so that a first write finds it.
MERGE (owner:Owner {id: $owner})
SET owner.erased_at = coalesce(owner.erased_at, $erased_at), owner.revision = null
RETURN true AS closed
