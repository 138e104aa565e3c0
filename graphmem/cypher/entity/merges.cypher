// entity.merges: every merge and unmerge among all entities that were ever merged with some, directly or through
// others, and how many transactions touched each of them when.
//
// params  entity_ids: LIST<STRING>, at_ingested: INTEGER
// returns entities: LIST<STRING>, facts: LIST<LIST>, touches: LIST<LIST>
// mode    read
// index   entity_id, observed_in_time (home, at)
// cost    light
CALL () {
  UNWIND $entity_ids AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner AND EXISTS { (entity)-[:MERGED]-() }
  MATCH (entity)-[:MERGED*0..]-(other:Entity)
  WHERE other.owner = $owner
  RETURN collect(DISTINCT other.id) AS entities
}
CALL (entities) {
  UNWIND entities AS home
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = home AND seen.at IS NOT NULL AND seen.recorded_at <= $at_ingested AND seen.kind IN <fact._merge_kinds>
  RETURN collect([home, seen.at, seen.recorded_at, seen.observation_id, seen.kind,
    [i IN range(0, size(observation.fields) - 1) WHERE observation.fields[i] = 'into' | observation.values[i]][0]])
    AS facts
}
CALL (entities) {
  UNWIND entities AS home
  CALL (home) {
    MATCH ()-[seen:OBSERVED]->()
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = home AND seen.at IS NOT NULL AND seen.recorded_at <= $at_ingested
    WITH seen.recorded_at AS recorded_at, min(seen.at) AS at
    RETURN collect([recorded_at, at]) AS touched
  }
  RETURN collect([home, touched]) AS touches
}
RETURN entities, facts, touches
