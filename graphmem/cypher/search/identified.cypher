// search.identified: the text of words of some listed entities of a sealed instance, with their names and values.
//
// params  entity_ids: LIST<STRING>, characters: INTEGER
// returns texts: LIST<LIST>
// mode    read
// index   entity_id
// cost    light
// In place of the fields and values of an entity that has more than `characters` of them stands null.
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL AND entity.sealed_text IS NOT NULL
RETURN collect([entity.id, entity.sealed_text, entity.canonical_name,
  CASE WHEN entity.size <= $characters THEN entity.fields END,
  CASE WHEN entity.size <= $characters THEN entity.values END]) AS texts
