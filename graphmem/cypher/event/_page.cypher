// The rows of the events `found`, in their order, as `page`.
CALL (found) {
  UNWIND found AS event
  MATCH (event)<-[:HAS_EVENT]-(entity:Entity)
  MATCH (observation:Observation {id: event.observation_id})
  RETURN collect(<event._row>) AS page
}
