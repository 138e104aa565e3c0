// exclusion.stamp: go on to note when the observations of withdrawn or reinstated subjects count; no row if that is
// done.
//
// params  limit: INTEGER
// returns unstamped: INTEGER
// mode    write
// index   owner_id, source_id, interpretation_id, transaction_id, agent_by_owner (owner), writing_id (owner, id),
//         writing_by_writer (owner, writer), split_id, entity_id,
//         relationship_key
// cost    light
// The revision tells turns that looked before that they must look again.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner WHERE owner.unstamped > 0
SET owner.revision = owner.revision + 1
WITH owner, owner.stamping AS subject_ids, owner.stamped AS after
<exclusion._stamp>
RETURN unstamped
