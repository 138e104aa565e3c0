// The receipts, as `receipt`, of which something is behind what was told: an observation, an entity with what is merged
// with it, a relationship, a file, or what an interpretation, a transaction, a writer or a split recorded. Takes `subject_id`.
CALL (subject_id) {
  <exclusion._observations>
  MATCH (observation)<-[:told_of]-(receipt:Receipt)
  RETURN receipt
  UNION
  MATCH (source:Source {id: subject_id})<-[:told_of]-(receipt:Receipt)
  WHERE source.owner = $owner
  RETURN receipt
  UNION
  MATCH (observation:Observation {id: subject_id})<-[:told_of]-(receipt:Receipt)
  WHERE observation.owner = $owner
  RETURN receipt
  UNION
  MATCH (entity:Entity {id: subject_id})<-[:MERGED_INTO*0..]-(member:Entity)
  WHERE entity.owner = $owner
  MATCH (member)-[:HAS_HISTORY]->(:History)-[:OBSERVED]->(observation:Observation)<-[:told_of]-(receipt:Receipt)
  RETURN receipt
  UNION
  MATCH (relationship:Relationship {key: subject_id})
  WHERE relationship.owner = $owner
  MATCH (relationship)-[:HAS_HISTORY]->(:History)-[:OBSERVED]->(observation:Observation)<-[:told_of]-(receipt:Receipt)
  RETURN receipt
}
