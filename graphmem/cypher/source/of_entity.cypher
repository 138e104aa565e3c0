// source.of_entity: the sources of the newest observations of an entity, as of two clocks, by id.
//
// params  entity_id: STRING, at: INTEGER, at_ingested: INTEGER, by_writer: BOOLEAN, most: INTEGER
// returns sources: LIST<STRING>
// mode    read
// index   entity_id, observed_in_time (home, at), read backwards
// cost    light
// At most `most` observations are read.
MATCH (entity:Entity {id: $entity_id})
WHERE entity.owner = $owner
CALL () {
  WITH $at_ingested AS known
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = $entity_id AND seen.at <= $at AND <observation._learned>
    AND <observation._counts>
  WITH seen, observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $most
  MATCH (observation)-[:FROM_SOURCE]->(source:Source)
  WHERE source.owner = $owner
  WITH DISTINCT source.id AS id ORDER BY id
  RETURN collect(id) AS sources
}
RETURN sources
