// copy.merged: those of some entities, and of those that the observations of some subjects of withdrawals are about, that were ever
// merged, by a fact or by a rule, or are `moving`, with all that was merged with them, and the relationships of these.
//
// params  entity_ids: LIST<STRING>, moving: LIST<STRING>, subjects: LIST<STRING>, limit: INTEGER
// returns entities: LIST<STRING>, relationships: LIST<STRING>
// mode    read
// index   source_id, interpretation_id, transaction_id, agent_by_owner (owner), split_id, entity_id, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id)
// cost    light
// sealing moving: clear
CALL () {
  UNWIND $subjects AS subject_id
  <exclusion._observations>
  MATCH (observation)<-[seen:OBSERVED]-(:History)
  RETURN collect(DISTINCT seen.home) AS homes
}
CALL (homes) {
  UNWIND $entity_ids + homes AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner AND (id IN $moving OR EXISTS { (entity)-[:MERGED]-() })
  MATCH (entity)-[:MERGED*0..]-(other:Entity)
  RETURN collect(DISTINCT other.id) AS entities
}
CALL (entities) {
  UNWIND entities AS moved_id
  MATCH (moved:Entity {id: moved_id})
  WHERE moved.owner = $owner
  CALL (moved) {
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.source = moved.id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship.key AS key
    UNION
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.target = moved.id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship.key AS key
  }
  WITH DISTINCT key LIMIT $limit
  RETURN collect(key) AS relationships
}
RETURN entities, relationships
