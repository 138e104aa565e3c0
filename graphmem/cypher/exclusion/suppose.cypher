// exclusion.suppose: note on the histories of some entities and relationships which observations would count if a subject
// was excluded and included again at some times. The transaction is rolled back.
//
// params  subject_id: STRING, toggles: LIST<INTEGER>, subject_ids: LIST<STRING>
// returns changed: LIST<STRING>
// mode    write
// index   owner_id, source_id, interpretation_id
// cost    light
// `subject_ids` are the entities and relationships, `changed` those of them with other observations that count. Reads
// leave out what is later than the owner's `recorded_at`.
MATCH (owner:Owner {id: $owner})
SET owner.recorded_at = last($toggles)
WITH owner
CALL () {
  WITH $subject_id AS subject_id
  <exclusion._subject>
  SET subject.excluded = $toggles
}
CALL () {
  WITH $subject_id AS subject_id
  <exclusion._observations>
  WITH DISTINCT observation, coalesce(observation.entity_id, observation.relationship_key) AS home
  WHERE home IN $subject_ids
  <exclusion._of_observation>
  WITH observation, home, excluded WHERE coalesce(observation.excluded, []) <> excluded
  MATCH (observation)<-[seen:OBSERVED]-(:History)
  SET seen.excluded = CASE WHEN size(excluded) > 0 THEN excluded END
  RETURN collect(DISTINCT home) AS changed
}
RETURN changed
