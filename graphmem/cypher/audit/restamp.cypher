// audit.restamp: note on some subjects when they were excluded and included again, and on some observations when they
// count.
//
// params  subjects: LIST<STRING>, observation_ids: LIST<STRING>
// returns revision: INTEGER
// mode    write
// index   owner_id, exclusion_by_subject (owner, subject, recorded_at, id), source_id, interpretation_id, transaction_id,
//         agent_by_owner (owner), writing_id (owner, id),
//         writing_by_writer (owner, writer), split_id, observation_id, entity_id, relationship_key
// cost    light
// The revision tells turns that looked before that they must look again.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner
SET owner.revision = owner.revision + 1, owner.refolding = true
WITH owner
CALL () {
  UNWIND $subjects AS subject_id
  <exclusion._set>
}
CALL () {
  UNWIND $observation_ids AS id
  MATCH (observation:Observation {id: id})
  WHERE observation.owner = $owner
  <exclusion._of_observation>
  <exclusion._note>
}
<exclusion._mark>
RETURN owner.revision AS revision
