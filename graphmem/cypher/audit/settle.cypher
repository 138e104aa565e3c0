// audit.settle: set the counters and the state hash of an owner, if nothing was written since the audit added them
// up. A damaged key becomes another one, as after an erasure: cursors of before are refused.
//
// params  revision: INTEGER, state_hash: STRING, counts: LIST<MAP>
// returns revision: INTEGER
// mode    write
// index   owner_id, count_type (owner, kind, type), event_by_time (owner, listed_at, id),
//         source_by_recorded (owner, recorded_at, id), interpretation_by_created (owner, created_at, id)
// cost    heavy
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner WHERE owner.revision = $revision
<audit._counted>
SET owner.revision = $revision + 1, owner.state_hash = $state_hash, owner.events = events, owner.sources = sources,
  owner.interpretations = interpretations,
  owner.node_key = CASE WHEN owner.node_key =~ '[0-9a-f-]{36}' THEN owner.node_key ELSE randomUUID() END
WITH owner
CALL () {
  UNWIND $counts AS row
  MERGE (counted:Count {owner: $owner, kind: row.kind, type: row.type})
  SET counted += row
}
RETURN owner.revision AS revision
