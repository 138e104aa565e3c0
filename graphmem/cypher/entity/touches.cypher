// entity.touches: the transactions that observed some entities, or changed which observations count, each as [recorded_at, least observed_at].
//
// params  entity_ids: LIST<STRING>, at_ingested: INTEGER, by_writer: BOOLEAN
// returns touches: LIST<LIST>
// mode    read
// index   entity_id, observed_in_time (home, at)
// cost    light
// No two transactions of an owner share a recorded_at.
CALL () {
  UNWIND $entity_ids AS subject_id
  MATCH (entity:Entity {id: subject_id})
  WHERE entity.owner = $owner
  CALL (subject_id) {
    WITH subject_id, $at_ingested AS known
    MATCH ()-[seen:OBSERVED]->()
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = subject_id AND seen.at IS NOT NULL AND <observation._learned>
    UNWIND [seen.recorded_at] + [moment IN coalesce(<observation._turned>, []) WHERE moment <= known]
      AS recorded_at
    WITH recorded_at, min(seen.at) AS observed_at
    RETURN collect([recorded_at, observed_at]) AS touched
  }
  RETURN collect([subject_id, touched]) AS touches
}
RETURN touches
