// The creation, deletion or restoration that decides whether a relationship was live as of two clocks, as `turn`:
// [at, id, kind], null if the relationship did not exist. `last` is the time of its last observation by then. Takes
// `key` and `known`.
MATCH ()-[seen:OBSERVED]->()
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = key AND seen.at <= $at AND seen.recorded_at <= known
RETURN max(CASE WHEN seen.kind IN <fact._lifecycle_kinds> THEN [seen.at, seen.observation_id, seen.kind] END) AS turn,
  max(seen.at) AS last
