// relationship.reach: a whole small walk: the entities up to five live relationships away from an entity, level by
// level.
//
// params  origin: STRING, outgoing: BOOLEAN, incoming: BOOLEAN, depth: INTEGER, hub: INTEGER, most: INTEGER
// returns origin: LIST, levels: LIST<LIST>, whole: BOOLEAN, revision: INTEGER
// mode    read
// index   entity_id, relationship_type_name
// cost    heavy
// `levels` has, for each entity that is reached, its id and the keys of the relationships to it. If the walk would
// read more than `most` relationships, or pass an entity with more than `hub`, it is not `whole`, and the caller walks
// level by level (relationship.expand). `revision` is that of the vocabulary, read before the relationships.
OPTIONAL MATCH <relationship_type._gate>
WITH coalesce(gate.revision, 0) AS revision LIMIT 1
MATCH (given:Entity {id: $origin})
WHERE given.owner = $owner
MATCH (given)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND entity.live
WITH revision, [entity.id, entity.type, entity.canonical_name, entity.version] AS origin, [] AS levels, [] AS seen,
  [entity] AS frontier, $most AS left, true AS whole
<relationship._level>
<relationship._level>
<relationship._level>
<relationship._level>
<relationship._level>
RETURN origin, levels[..$depth] AS levels, whole, revision
