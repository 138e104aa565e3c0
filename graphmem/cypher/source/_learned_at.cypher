// When this copy had a source first: when it learned of its first store, or was told to store it. Takes `source`.
coalesce(head(COLLECT {
  MATCH (source)<-[:stored]-(taken:Transaction)
  RETURN coalesce(taken.learned_at, taken.recorded_at) AS first ORDER BY first LIMIT 1
}), source.recorded_at)
