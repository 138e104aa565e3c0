// entity.replay: a stretch of the value-setting observations of one subject that count as of two clocks, oldest
// first.
//
// params  subject_id: STRING, from: INTEGER, after: STRING, at: INTEGER, at_ingested: INTEGER,
//         by_writer: BOOLEAN, limit: INTEGER
// returns observations: LIST<LIST>, more: BOOLEAN
// mode    read
// index   observed_in_time (home, at)
// cost    light
// The stretch begins after the observation `after` of the time `from`. It ends early if its values are large.
CALL () {
  WITH $at_ingested AS known
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = $subject_id AND seen.at >= $from AND seen.at <= $at AND <observation._learned>
    AND <observation._counts>
    AND (seen.at > $from OR seen.observation_id > $after) AND observation.owner = $owner
    AND seen.kind IN <fact._value_kinds>
  WITH seen, observation ORDER BY seen.home, seen.at, seen.observation_id LIMIT $limit
  RETURN collect(observation) AS stretch
}
WITH stretch, [observation IN stretch | observation.size] AS sizes
WITH stretch, <entity._fitting> AS fitting
RETURN [observation IN stretch[..fitting] |
    [observation.id, observation.kind, observation.observed_at, observation.recorded_at, observation.fields,
      observation.values, observation.priority, observation.specificity, observation.observation_source,
      observation.identity_basis]] AS observations,
  size(stretch) = $limit OR fitting < size(stretch) AS more
