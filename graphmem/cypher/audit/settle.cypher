// audit.settle: set the counters and the state hash of an owner, if nothing was written since the audit added them
// up.
//
// params  revision: INTEGER, state_hash: STRING, counts: LIST<MAP>
// returns revision: INTEGER
// mode    write
// index   owner_id, count_type (owner, kind, type)
// cost    light
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner WHERE owner.revision = $revision
SET owner.revision = $revision + 1, owner.state_hash = $state_hash
WITH owner
CALL () {
  UNWIND $counts AS row
  MERGE (counted:Count {owner: $owner, kind: row.kind, type: row.type})
  SET counted += row
}
RETURN owner.revision AS revision
