// What the observations of a subject come to that count as of two clocks, where no observation says when its values held:
// `tallies` and `winners`, as observation._tally_by_dates and observation._winners_by_dates have them. Takes `subject_id`,
// `known` and `projection`: there are no winners under a schema with rules. Of observations with equal fields one wins
// all fields, so the values of no other are read.
MATCH ()-[seen:OBSERVED]->(observation)
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject_id AND seen.at <= $at AND <observation._learned>
WITH projection, observation, seen.at AS at, seen.recorded_at AS recorded_at, seen.kind AS kind,
  seen.observation_id AS id, <observation._turned> AS turned, known
WITH *, <observation._even> AS counts, [moment IN turned WHERE recorded_at < moment <= known] AS toggles
WITH CASE WHEN projection IS NULL AND counts AND kind IN <fact._value_kinds> THEN observation.fields ELSE [] END AS names,
  collect(DISTINCT recorded_at) AS touched, collect(DISTINCT toggles) AS toggles,
  count(CASE WHEN counts THEN 1 END) AS observations, min(CASE WHEN counts THEN recorded_at END) AS created_at,
  max(CASE WHEN counts THEN [at, id] END) AS newest, max(at) AS observed_at,
  max(CASE WHEN counts AND kind IN <fact._lifecycle_kinds> THEN [at, id, kind] END) AS turn,
  count(CASE WHEN kind IN <fact._value_kinds> THEN 1 END) AS made,
  count(CASE WHEN counts AND kind IN <fact._value_kinds> THEN 1 END) AS made_now,
  max(CASE WHEN counts THEN [CASE kind WHEN 'correction' THEN 1 ELSE 0 END, at, id, observation] END) AS winner
WITH names, winner, [[[], false, true, null, newest], turn, made, made_now,
  reduce(moments = touched, group IN toggles | moments + [moment IN group WHERE NOT moment IN moments]),
  observations, created_at, observed_at] AS tally
WITH collect(tally) AS tallies, collect(CASE WHEN size(names) > 0 THEN winner END) AS winning
CALL (winning) {
  UNWIND winning AS winner
  WITH winner, winner[3] AS observation
  UNWIND range(0, size(observation.fields) - 1) AS i
  RETURN collect([[[], false, true], [observation.fields[i]] + winner[..3] +
    [head([placed IN [[observation.id, observation.values[i]]] | <entity._placed>])]]) AS winners
}
RETURN <observation._sent> AS tallies, winners
