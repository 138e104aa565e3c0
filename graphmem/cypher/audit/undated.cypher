// audit.undated: whether it has to be worked out again from all facts when merges by rule of an owner held, and whether
// something waits to be folded before that.
//
// params  none
// returns undated: INTEGER, waiting: INTEGER, revision: INTEGER
// mode    read
// index   owner_id, entity_refold (owner, refold, id), relationship_refold (owner, refold, id), schema_head (owner, head)
// cost    light
// `undated` is the revision of the last write that made it uncertain: of a changed rule, or of a withdrawal that was
// folded in after other writes. `waiting` counts what the withdrawals and changed schemas of the owner left to be folded.
<exclusion._pending>
CALL () {
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head IS NOT NULL AND head.pending
  RETURN count(head) AS stale
}
OPTIONAL MATCH (owner:Owner {id: $owner})
RETURN owner.undated AS undated, pending + stale AS waiting, owner.revision AS revision
