// The number of a subject's observations as of two clocks, and the observation that decides whether it is live
// (`turn`). Takes `subject_id` and `known`. No two transactions of an owner have the same recorded_at, so the number
// of different times is the number of transactions.
MATCH ()-[seen:OBSERVED]->()
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject_id AND seen.at <= $at AND seen.recorded_at <= known
RETURN count(seen) AS observations, count(DISTINCT seen.recorded_at) AS version,
  min(seen.recorded_at) AS created_at, max(seen.recorded_at) AS updated_at, max(seen.at) AS last_observation_at,
  max(CASE WHEN seen.kind IN <fact._lifecycle_kinds> THEN [seen.at, seen.observation_id, seen.kind] END) AS turn
