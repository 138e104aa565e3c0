// duplicate.parted: the entities of some types that one e-mail address, or one number, would make one, and that what they
// say parts.
//
// params  types: LIST<STRING>, compared: LIST<STRING>
// returns groups: LIST<LIST>, profiles: LIST<LIST>
// mode    read
// index   entity_by_type (owner, listed, id), entity_unlisted (owner, unlisted, id): a seek for each type; entity_id
// cost    heavy
UNWIND $types AS type
CALL (type) {
  MATCH (shared:Entity)
  USING INDEX SEEK shared:Entity(owner, listed, id)
  WHERE shared.owner = $owner AND shared.listed = type AND shared.id IS NOT NULL
  RETURN shared
  UNION ALL
  MATCH (shared:Entity)
  USING INDEX SEEK shared:Entity(owner, unlisted, id)
  WHERE shared.owner = $owner AND shared.unlisted = type AND shared.id IS NOT NULL
  RETURN shared
}
WITH shared WHERE size(shared.parted_into) > 1
UNWIND shared.parted_into AS part_id
MATCH (part:Entity {id: part_id})
WHERE part.owner = $owner
MATCH (part)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.listed IS NOT NULL
WITH shared, collect(DISTINCT entity) AS entities
WITH collect([entity IN entities | entity.id]) AS groups, collect(entities) AS every
RETURN groups, COLLECT { UNWIND every AS entities UNWIND entities AS entity WITH DISTINCT entity
  RETURN <duplicate._row> } AS profiles
