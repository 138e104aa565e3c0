// What the observations of a subject come to that may count as of two clocks, by their dates, as `tallies`; see
// observation._tally for the numbers. Takes `subject_id`, `known` and `until`. In Python: graphmem.reading.tallies.Tally.
<observation._by_dates>
WITH dates, counts, seen.at AS at, seen.recorded_at AS recorded_at, seen.kind AS kind, seen.observation_id AS id,
  [moment IN turned WHERE seen.recorded_at < moment <= known] AS toggles
WITH dates, collect(DISTINCT recorded_at) AS touched, collect(DISTINCT toggles) AS toggles,
  count(CASE WHEN counts THEN 1 END) AS observations, min(CASE WHEN counts THEN recorded_at END) AS created_at,
  min(CASE WHEN counts THEN at END) AS first, max(CASE WHEN counts THEN [at, id] END) AS newest, max(at) AS observed_at,
  max(CASE WHEN counts AND kind IN <fact._lifecycle_kinds> THEN [at, id, kind] END) AS turn,
  count(CASE WHEN kind IN <fact._value_kinds> THEN 1 END) AS made,
  count(CASE WHEN counts AND kind IN <fact._value_kinds> THEN 1 END) AS made_now
WITH *, reduce(moments = touched, group IN toggles | moments + [moment IN group WHERE NOT moment IN moments]) AS moments
WITH collect([dates + [first, newest], turn, made, made_now, moments, observations, created_at, observed_at]) AS tallies
RETURN <observation._sent> AS tallies
