// When this copy learned of an observation from another one, null if not later than it was recorded: the first of its
// transactions that this copy had decides. Takes `observation`.
head([first IN COLLECT {
  MATCH (observation)-[:IN_TRANSACTION|also_in]->(taken:Transaction)
  RETURN coalesce(taken.learned_at, taken.recorded_at) AS first ORDER BY first LIMIT 1
} WHERE first > observation.recorded_at])
