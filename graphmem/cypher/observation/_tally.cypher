// The number of a subject's observations that count as of two clocks, and the observation that decides whether it is
// live (`turn`). Takes `subject_id` and `known`. No two transactions of an owner have the same recorded_at, so the
// number of different times is the number of transactions; those that excluded or included observations are among
// them. `unmade`: the observations that gave the subject values are excluded. What else is known of it has no effect
// then. An unmade subject has the `last_observation_at` of all observations, so that indexes have it.
MATCH ()-[seen:OBSERVED]->()
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject_id AND seen.at <= $at AND <observation._learned>
WITH seen.at AS at, seen.recorded_at AS recorded_at, seen.kind AS kind, seen.observation_id AS id,
  <observation._turned> AS turned, known
WITH *, <observation._even> AS counts, [moment IN turned WHERE recorded_at < moment <= known] AS toggles
WITH collect(DISTINCT recorded_at) AS touched, collect(DISTINCT toggles) AS toggles,
  count(CASE WHEN counts THEN 1 END) AS observations, min(CASE WHEN counts THEN recorded_at END) AS created_at,
  max(CASE WHEN counts THEN at END) AS counted_at, max(at) AS observed_at,
  max(CASE WHEN counts AND kind IN <fact._lifecycle_kinds> THEN [at, id, kind] END) AS turn,
  count(CASE WHEN kind IN <fact._value_kinds> THEN 1 END) AS made,
  count(CASE WHEN counts AND kind IN <fact._value_kinds> THEN 1 END) AS made_now
WITH *, reduce(times = touched, group IN toggles | times + [moment IN group WHERE NOT moment IN times]) AS touched_at
RETURN observations, size(touched_at) AS version, created_at,
  reduce(latest = null, moment IN touched_at | CASE WHEN moment < latest THEN latest ELSE moment END) AS updated_at,
  coalesce(counted_at, observed_at) AS last_observation_at, turn, made > 0 AND made_now = 0 AS unmade
