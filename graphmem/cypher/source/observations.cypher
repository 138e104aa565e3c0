// source.observations: the newest observations of entities from one source, as of two clocks; none of an entity that
// was deleted by then.
//
// params  source_id: STRING, at: INTEGER, at_ingested: INTEGER, by_writer: BOOLEAN, limit: INTEGER
// returns observations: LIST<LIST>
// mode    read
// index   entity_id
// cost    light
MATCH (source:Source {id: $source_id})
WHERE source.owner = $owner
CALL (source) {
  WITH $at_ingested AS known, source
  MATCH (source)<-[:FROM_SOURCE]-(observation:Observation)<-[seen:OBSERVED]-(:History)
  WHERE observation.entity_id IS NOT NULL AND observation.observed_at <= $at AND <observation._learned>
    AND <observation._counts>
  WITH observation, known, seen.home AS id
  MATCH (entity:Entity {id: id})
  CALL (entity, known) {
    <entity._lived>
  }
  WITH observation WHERE lived
  ORDER BY observation.observed_at DESC, observation.id DESC LIMIT $limit
  WITH collect(observation) AS newest
  WITH newest, [observation IN newest | observation.size] AS sizes
  WITH newest[..<entity._fitting>] AS page
  CALL (page) {
    UNWIND page AS observation
    MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
    RETURN collect(<observation._row>) AS observations
  }
  RETURN observations
}
RETURN observations
