// The creation, deletion or restoration that decides whether a relationship was live as of two clocks, as `turn`:
// [at, id, kind], null if the relationship did not exist: its creations may be excluded. `last` is the time of its last
// observation by then. Takes `key` and `known`.
MATCH ()-[seen:OBSERVED]->()
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = key AND seen.at <= $at AND seen.recorded_at <= known
WITH <observation._counts> AS counts, seen.at AS at, seen.observation_id AS observation_id, seen.kind AS kind
WITH max(CASE WHEN counts AND kind IN <fact._lifecycle_kinds> THEN [at, observation_id, kind] END) AS turn,
  max(CASE WHEN counts THEN at END) AS last, count(CASE WHEN kind IN <fact._value_kinds> THEN 1 END) AS made,
  count(CASE WHEN counts AND kind IN <fact._value_kinds> THEN 1 END) AS made_now
RETURN CASE WHEN made = 0 OR made_now > 0 THEN turn END AS turn, last
