// entity.merges: every merge, unmerge and merge by rule of some entities, and of all entities that were ever merged with these,
// directly or through others.
//
// params  entity_ids: LIST<STRING>, at_ingested: INTEGER
// returns entities: LIST<STRING>, facts: LIST<LIST>, rules: LIST<LIST>
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
  UNWIND entities AS subject_id
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = subject_id AND seen.at IS NOT NULL AND seen.recorded_at <= $at_ingested
    AND seen.kind IN <fact._merge_kinds>
  RETURN collect([seen.observation_id, subject_id, seen.at, seen.recorded_at, seen.kind, observation.fields,
    observation.values, seen.excluded]) AS facts
}
CALL (entities) {
  UNWIND entities AS subject_id
  MATCH (entity:Entity {id: subject_id})-[span:ruled]->(into:Entity)
  WHERE span.from <= $at_ingested
  RETURN collect([subject_id, into.id, span.from,
    CASE WHEN span.until <= $at_ingested THEN span.until ELSE <fact._latest> END, span.alternative]) AS rules
}
RETURN entities, facts, rules
