// The rows of some events in their order, as `page`. Takes `events`.
CALL (events) {
  UNWIND events AS event
  MATCH (event)<-[:HAS_EVENT]-(entity:Entity)
  MATCH (observation:Observation {id: event.observation_id})
  RETURN collect(<event._row>) AS page
}
