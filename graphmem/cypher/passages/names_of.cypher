// passages.names_of: the names and identifiers that some entities have now, those of what is merged into them too.
//
// params  entity_ids: LIST<STRING>, kinds: LIST<STRING>, limit: INTEGER
// returns names: LIST<LIST>
// mode    read
// index   entity_id
// cost    light
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL
MATCH (entity)<-[:MERGED_INTO*0..]-(named:Entity)<-[:IDENTIFIES]-(identifier:Identifier)
WHERE identifier.kind IN $kinds
WITH DISTINCT identifier.kind AS kind, identifier.value AS value ORDER BY value, kind LIMIT $limit
RETURN collect([kind, value]) AS names
