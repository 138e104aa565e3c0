// exclusion.settle: note that nothing of an owner waits to be folded again; no row if something does.
//
// params  none
// returns settled: BOOLEAN
// mode    write
// index   owner_id, entity_refold (owner, refold, id), relationship_refold (owner, refold, id)
// cost    light
// The holder of the owner's lock sees every commit whole.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner
<exclusion._pending>
WITH owner, pending WHERE pending = 0
SET owner.refolding = null
RETURN true AS settled
