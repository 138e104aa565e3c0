// How many observations a subject has as of two clocks, and what decides whether it is live. Takes `home` (the stored
// name of a subject's id) and `known`. Two transactions of an owner never have the same recorded_at, so the number of
// different times is the number of transactions.
MATCH ()-[seen:OBSERVED]->()
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject_id AND seen.at <= $at AND seen.recorded_at <= known
RETURN count(seen) AS observations, count(DISTINCT seen.recorded_at) AS version,
  min(seen.recorded_at) AS created_at, max(seen.recorded_at) AS updated_at, max(seen.at) AS last_observation_at,
  max(CASE WHEN seen.kind IN <fact._lifecycle_kinds> THEN [seen.at, seen.observation_id, seen.kind] END) AS turn
