// audit.reduce: the own state of some subjects as of two clocks: their own observations, reduced without schema
// rules.
//
// params  subject_ids: LIST<STRING>, at: INTEGER, at_ingested: INTEGER
// returns reduced: LIST<LIST>
// mode    read
// index   owner_id, observed_in_time (home, at)
// cost    heavy
<owner._known>
CALL (known) {
  UNWIND $subject_ids AS subject_id
  CALL (subject_id, known) {
    <observation._tally>
  }
  CALL (subject_id, known) {
    <observation._winners>
  }
  RETURN collect([subject_id, version, updated_at, observations, created_at, last_observation_at, turn, fold,
    unmade]) AS reduced
}
RETURN reduced
