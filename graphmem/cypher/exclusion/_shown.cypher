// The entity that shows an entity, as `shown`. Takes `id`. An entity that no observation that counts makes is stored as
// merged into nothing.
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner
MATCH (entity)-[:MERGED_INTO*0..]->(shown:Entity)
WHERE coalesce(shown.merged_into, '') = ''
