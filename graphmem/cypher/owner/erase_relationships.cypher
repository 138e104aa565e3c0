// owner.erase_relationships: erase some of an owner's relationships, without the edges between their entities.
//
// params  limit: INTEGER
// returns relationships: INTEGER
// mode    write
// index   relationship_by_owner (owner, last_observation_at, id)
// cost    light
// Relationships without observations are not in this index: they are erased with the entity at their source.
MATCH (relationship:Relationship)
USING INDEX SEEK relationship:Relationship(owner, last_observation_at, id)
WHERE relationship.owner = $owner AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
WITH relationship LIMIT $limit
WITH collect(relationship) AS stretch, collect(1 + coalesce(relationship.size, 0) / 4000) AS weights
UNWIND stretch[..<owner._batch>] AS relationship
OPTIONAL MATCH (relationship)-[:HAS_HISTORY]->(history:History)
DETACH DELETE history, relationship
RETURN count(*) AS relationships
