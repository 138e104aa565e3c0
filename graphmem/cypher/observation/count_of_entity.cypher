// observation.count_of_entity: how many observations of an entity, and of those merged into it, lie within two times.
//
// params  entity_id: STRING, recorded_since: INTEGER, observed_until: INTEGER
// returns total: INTEGER
// mode    read
// index   entity_id, observed_in_time (home, at)
// cost    light
// An entity that is merged is counted as its survivor. `home` is the subject of an observation.
MATCH (given:Entity {id: $entity_id})
WHERE given.owner = $owner
MATCH (given)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL
MATCH (entity)<-[:MERGED_INTO*0..]-(member:Entity)
CALL (member) {
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = member.id AND seen.at <= $observed_until AND seen.recorded_at >= $recorded_since
  RETURN count(observation) AS own
}
RETURN sum(own) AS total
