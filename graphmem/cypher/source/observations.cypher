// source.observations: the newest observations from one source, as of two clocks.
//
// params  source_id: STRING, at: INTEGER, at_ingested: INTEGER, limit: INTEGER
// returns observations: LIST<LIST>
// mode    read
// index   entity_id
// cost    light
// Observations of entities and of relationships; those of subjects that were deleted by then are left out.
MATCH (source:Source {id: $source_id})
WHERE source.owner = $owner
CALL (source) {
  WITH $at_ingested AS known, source
  MATCH (source)<-[:FROM_SOURCE]-(observation:Observation)
  WHERE observation.entity_id IS NOT NULL AND observation.observed_at <= $at AND observation.recorded_at <= known
  MATCH (entity:Entity {id: observation.entity_id})
  CALL (entity, known) {
    <entity._lived>
  }
  WITH observation WHERE lived
  ORDER BY observation.observed_at DESC, observation.id DESC LIMIT $limit
  WITH collect(observation) AS found
  WITH found, [one IN found | one.size] AS sizes
  WITH found[..<entity._fitting>] AS fitting
  CALL (fitting) {
    UNWIND fitting AS observation
    MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
    RETURN collect(<observation._row>) AS observations
  }
  RETURN observations
}
RETURN observations
