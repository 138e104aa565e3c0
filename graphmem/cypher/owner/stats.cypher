// owner.stats: how much of what an owner has, from counters kept under its lock.
//
// params  empty: STRING
// returns counts: LIST<LIST>, sequence: INTEGER, recorded_at: INTEGER, state_hash: STRING,
//         pending: LIST<STRING>
// mode    read
// index   owner_id, count_type (owner, kind, type), schema_head (owner, head)
// cost    light
OPTIONAL MATCH (owner:Owner {id: $owner})
CALL () {
  MATCH (counted:Count)
  WHERE counted.owner = $owner AND counted.kind IS NOT NULL AND counted.type IS NOT NULL
  WITH counted ORDER BY counted.owner, counted.kind, counted.type
  RETURN collect([counted.kind, counted.type, counted.total, counted.observations]) AS counts
}
CALL () {
  MATCH (head:Schema)
  WHERE head.owner = $owner AND head.head IS NOT NULL AND head.pending
  WITH head ORDER BY head.head
  RETURN collect(head.head) AS pending
}
RETURN pending, counts, coalesce(owner.sequence, 0) AS sequence, coalesce(owner.recorded_at, 0) AS recorded_at,
  CASE WHEN owner IS NULL THEN $empty ELSE owner.state_hash END AS state_hash
