// How many observations a home has as of two clocks, and what decides whether it lives. Takes `home` and `known`.
// No two transactions of an owner share a recorded_at: as many transactions touched it as there are of those.
MATCH ()-[seen:OBSERVED]->()
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = home AND seen.at <= $at AND seen.recorded_at <= known
RETURN count(seen) AS observations, count(DISTINCT seen.recorded_at) AS version,
  min(seen.recorded_at) AS created_at, max(seen.recorded_at) AS updated_at, max(seen.at) AS last_observation_at,
  max(CASE WHEN seen.kind IN <fact._lifecycle_kinds> THEN [seen.at, seen.observation_id, seen.kind] END) AS turn
