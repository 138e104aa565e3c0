// entity.histories: the own state of some entities and relationships as of two clocks, and the value-setting
// observations that count for each, as many as fit.
//
// params  subject_ids: LIST<STRING>, most: INTEGER, at: INTEGER, at_ingested: INTEGER, by_writer: BOOLEAN
// returns histories: LIST<LIST>
// mode    read
// index   owner_id, observed_in_time (home, at)
// cost    light
// The observations are null if a subject has more than `most` of them, or if they do not fit into the answer.
<owner._known>
CALL (known) {
  UNWIND $subject_ids AS subject_id
  CALL (subject_id, known) {
    <observation._tally>
  }
  CALL (subject_id, known, observations) {
    WITH subject_id, known WHERE observations <= $most
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = subject_id AND seen.at <= $at AND <observation._learned>
      AND <observation._counts> AND observation.owner = $owner AND seen.kind IN <fact._value_kinds>
    RETURN collect(observation) AS history, sum(observation.size) AS size
  }
  RETURN collect([subject_id, version, updated_at, observations, created_at, last_observation_at, turn, unmade]) AS states,
    collect(history) AS stretches, collect(size) AS sizes
}
WITH states, stretches, sizes, <entity._fitting> AS fitting
RETURN [i IN range(0, size(states) - 1) | states[i] +
  [CASE WHEN i < fitting AND states[i][3] <= $most THEN [observation IN stretches[i] |
    [observation.id, observation.kind, observation.observed_at, observation.recorded_at, observation.fields,
      observation.values, observation.priority, observation.specificity, observation.observation_source,
      observation.identity_basis]] END]] AS histories
