// search.identified: those of some listed entities whose text of words has one of some patterns, with their values.
//
// params  entity_ids: LIST<STRING>, patterns: LIST<STRING>, characters: INTEGER
// returns texts: LIST<LIST>
// mode    read
// index   entity_id
// cost    light
// A row is an id, the text up to the end of the name, the length of the text, the name, the fields and the values. Where
// the text is sealed, every entity is answered with all of its text, and null in place of the length: the caller compares
// it. In place of the fields and values of an entity that has more than `characters` of them stands null.
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL
WITH entity, entity.text AS text
WHERE entity.sealed_text IS NOT NULL OR any(pattern IN $patterns WHERE ' ' + text + ' ' CONTAINS pattern)
RETURN collect([entity.id, coalesce(split(text, '|')[0], entity.sealed_text), size(text), entity.canonical_name,
  CASE WHEN entity.size <= $characters THEN entity.fields END,
  CASE WHEN entity.size <= $characters THEN entity.values END]) AS texts
