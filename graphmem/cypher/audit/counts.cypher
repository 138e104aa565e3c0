// audit.counts: the counters of an owner, its state hash, and the revision at which both were read.
//
// params  none
// returns counts: LIST<LIST>, revision: INTEGER, state_hash: STRING
// mode    read
// index   owner_id, count_type (owner, kind, type)
// cost    light
OPTIONAL MATCH (owner:Owner {id: $owner})
WITH coalesce(owner.revision, 0) AS revision, owner.state_hash AS state_hash LIMIT 1
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind IS NOT NULL AND counted.type IS NOT NULL
  RETURN collect([counted.kind, counted.type, counted.total, counted.known, counted.observations, counted.recorded])
    AS counts
}
RETURN counts, revision, state_hash
