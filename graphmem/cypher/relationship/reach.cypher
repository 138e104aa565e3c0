// relationship.reach: a whole small walk: the entities that are up to five live relationships away from an entity,
// level by level.
//
// params  origin: STRING, outgoing: BOOLEAN, incoming: BOOLEAN, depth: INTEGER, hub: INTEGER, most: INTEGER,
//         types: LIST<STRING>
// returns origin: LIST, levels: LIST<LIST>, whole: BOOLEAN, revision: INTEGER, entities: LIST<LIST>,
//         relationships: LIST<LIST>
// mode    read
// index   entity_id, relationship_type_name
// cost    heavy
// A row of a level is the id of an entity and the keys of the relationships that lead to it. The walk is not `whole`
// if it would read more than `most` relationships, or pass an entity with more than `hub`: then the caller walks
// level by level (relationship.expand). `revision` is that of the vocabulary of relationship types, read before the
// relationships.
OPTIONAL MATCH <relationship_type._gate>
WITH coalesce(gate.revision, 0) AS revision LIMIT 1
MATCH (requested_entity:Entity {id: $origin})
WHERE requested_entity.owner = $owner
MATCH (requested_entity)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND entity.live
WITH revision, [entity.id, entity.type, entity.canonical_name, entity.version] AS origin, [] AS levels, [] AS seen,
  [entity] AS frontier, $most AS budget, true AS whole
<relationship._level>
<relationship._level>
<relationship._level>
<relationship._level>
<relationship._level>
RETURN origin, levels[..$depth] AS levels, whole, revision, [] AS entities, null AS relationships
