// The creations, deletions and restorations that decide whether a relationship was there as of two clocks, as `turns`:
// [dates with the first and the newest time, [at, id, kind] of the newest one, creations, those that count], by dates.
// In Python: graphmem.reading.tallies.Tally. Takes `subject_id` and `known`.
WITH subject_id, known, <fact._latest> AS until
<observation._by_dates>
WITH dates, counts, seen.at AS at, seen.observation_id AS observation_id, seen.kind AS kind
WITH dates, min(CASE WHEN counts THEN at END) AS first, max(CASE WHEN counts THEN [at, observation_id] END) AS newest,
  max(CASE WHEN counts AND kind IN <fact._lifecycle_kinds> THEN [at, observation_id, kind] END) AS turn,
  count(CASE WHEN kind IN <fact._value_kinds> THEN 1 END) AS made,
  count(CASE WHEN counts AND kind IN <fact._value_kinds> THEN 1 END) AS made_now
RETURN collect([dates + [first, newest], turn, made, made_now]) AS turns
