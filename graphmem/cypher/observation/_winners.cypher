// The winner of each field of a subject as of two clocks, without schema rules, as [field, correction, observed_at,
// observation, value]. Takes `subject_id` and `known`.
MATCH ()-[seen:OBSERVED]->(observation:Observation)
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject_id AND seen.at <= $at AND seen.recorded_at <= known
  AND <observation._counts> AND seen.kind IN <fact._value_kinds>
WITH observation.fields AS fields, observation.values AS values, observation.id AS observation_id,
  observation.observed_at AS observed_at, CASE observation.kind WHEN 'correction' THEN 1 ELSE 0 END AS correction
UNWIND range(0, size(fields) - 1) AS i
WITH fields[i] AS field, max([correction, observed_at, observation_id, values[i]]) AS winner
RETURN collect([field, winner[0], winner[1], winner[2],
  head([placed IN [[winner[2], winner[3]]] | <entity._placed>])]) AS fold
