// exclusion.suppose: note on the histories of some entities and relationships which observations would count if some
// subjects were excluded and included again at some times. The transaction is rolled back.
//
// params  subjects: LIST<LIST>, subject_ids: LIST<STRING>
// returns changed: LIST<STRING>
// mode    write
// index   owner_id, source_id, interpretation_id, transaction_id, agent_by_owner (owner), writing_id (owner, id),
//         writing_by_writer (owner, writer), split_id
// cost    light
// `subjects` are pairs of a subject and its times. `subject_ids` are the entities and relationships, `changed` those of them with other observations that count. Reads
// leave out what is later than the owner's `recorded_at`.
MATCH (owner:Owner {id: $owner})
SET owner.recorded_at = last($subjects[0][1])
WITH owner
CALL () {
  UNWIND $subjects AS each
  WITH each[0] AS subject_id
  <exclusion._writing>
}
CALL () {
  UNWIND $subjects AS each
  WITH each[0] AS subject_id, each[1] AS toggles
  <exclusion._subject>
  SET subject.excluded = toggles
}
CALL () {
  UNWIND $subjects AS each
  WITH each[0] AS subject_id
  <exclusion._observations>
  WITH DISTINCT observation
  WHERE coalesce(observation.moved_to, observation.entity_id, observation.relationship_key) IN $subject_ids
  <exclusion._of_observation>
  <split._edges>
  SET seen.excluded = CASE WHEN size(toggles) > 0 THEN toggles END
  RETURN collect(DISTINCT seen.home) AS changed
}
RETURN changed
