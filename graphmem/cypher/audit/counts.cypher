// audit.counts: the counters of an owner, its state hash, the revision at which both were read, and whether a
// transaction is newer than the time up to which the owner was written. `kept` are the numbers of its events, sources and
// interpretations that it counted, `counted` those that there are. `has_key`: its key has the form of one.
//
// params  none
// returns counts: LIST<LIST>, revision: INTEGER, state_hash: STRING, is_behind: BOOLEAN, kept: LIST<INTEGER>,
//         counted: LIST<INTEGER>, has_key: BOOLEAN
// mode    read
// index   owner_id, count_type (owner, kind, type), transaction_by_recorded (owner, recorded_at, id),
//         event_by_time (owner, listed_at, id), source_by_recorded (owner, recorded_at, id),
//         interpretation_by_created (owner, created_at, id)
// cost    heavy
// The newest transaction is read first: a commit that comes after it moves the time of the owner.
CALL () {
  MATCH (transaction:Transaction)
  USING INDEX SEEK transaction:Transaction(owner, recorded_at, id)
  WHERE transaction.owner = $owner AND transaction.recorded_at IS NOT NULL AND transaction.id IS NOT NULL
  WITH transaction.recorded_at AS recorded_at
  ORDER BY transaction.owner DESC, transaction.recorded_at DESC, transaction.id DESC LIMIT 1
  RETURN max(recorded_at) AS newest
}
WITH newest LIMIT 1
OPTIONAL MATCH (owner:Owner {id: $owner})
WITH coalesce(owner.revision, 0) AS revision, owner.state_hash AS state_hash,
  coalesce(newest > owner.recorded_at, false) AS is_behind,
  [coalesce(owner.events, 0), coalesce(owner.sources, 0), coalesce(owner.interpretations, 0)] AS kept,
  coalesce(owner.node_key =~ '[0-9a-f-]{36}', owner IS NULL) AS has_key LIMIT 1
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind IS NOT NULL AND counted.type IS NOT NULL
  RETURN collect([counted.kind, counted.type, counted.total, counted.known, counted.observations, counted.recorded])
    AS counts
}
<audit._counted>
RETURN counts, revision, state_hash, is_behind, kept, [events, sources, interpretations] AS counted, has_key
