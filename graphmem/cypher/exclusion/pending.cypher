// exclusion.pending: how many entities and relationships wait to be folded again because other observations count, and at
// most how many because the rules of their types have changed.
//
// params  none
// returns pending: INTEGER, waiting: INTEGER
// mode    read
// index   owner_id, entity_refold (owner, refold, id), relationship_refold (owner, refold, id),
//         schema_waiting (owner, pending), count_type (owner, kind, type)
// cost    light
<exclusion._pending>
CALL () {
  OPTIONAL MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, pending)
  WHERE head.owner = $owner AND head.pending = true
  OPTIONAL MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type = head.head
  RETURN coalesce(sum(counted.known), 0) AS waiting
}
RETURN pending, waiting
