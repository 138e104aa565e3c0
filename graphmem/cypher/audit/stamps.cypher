// audit.stamps: those observations of some entities and relationships on which it is noted wrongly when they count, of
// the observations on which it is noted.
//
// params  subject_ids: LIST<STRING>, limit: INTEGER
// returns stamps: LIST<LIST>, unstamped: INTEGER
// mode    read
// index   owner_id, observed_in_time (home, at)
// cost    heavy
// A row is as in audit.stamps_of_subject.
CALL () {
  UNWIND $subject_ids AS subject_id
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = subject_id AND seen.at IS NOT NULL AND observation.owner = $owner
    AND (seen.excluded IS NOT NULL OR seen.excluded_learned IS NOT NULL OR observation.excluded IS NOT NULL
      OR observation.moved_to IS NOT NULL)
  RETURN observation
}
<audit._stamps>
