// relationship.around: a small walk of one or two steps, as relationship.reach answers it, with the rows of its first
// entities and of the relationships between them.
//
// params  origin: STRING, outgoing: BOOLEAN, incoming: BOOLEAN, depth: INTEGER, hub: INTEGER, most: INTEGER,
//         links: INTEGER, limit: INTEGER, include_entities: BOOLEAN
// returns origin: LIST, levels: LIST<LIST>, whole: BOOLEAN, revision: INTEGER, entities: LIST<LIST>,
//         relationships: LIST<LIST>
// mode    read
// index   entity_id, relationship_type_name, relationship_key, schema_head (owner, head)
// cost    light
// The first entities are `limit` at most, in the order of their steps and ids. `relationships` has those that have both
// ends among them and the origin. It is null, and there are no rows, if the walk is not `whole`, has more than `links`
// relationships, or these do not fit into an answer. As in entity.by_id, entities that do not fit are left out.
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
WITH revision, origin, levels[..$depth] AS levels, whole
CALL (levels, whole) {
  UNWIND CASE WHEN whole THEN levels ELSE [] END AS level
  UNWIND level AS step
  UNWIND step[1..] AS key
  WITH DISTINCT key LIMIT $links + 1
  RETURN collect(key) AS keys
}
WITH revision, origin, levels, whole, keys, whole AND size(keys) <= $links AS has_rows
CALL (origin, levels, has_rows) {
  UNWIND CASE WHEN has_rows THEN range(0, size(levels) - 1) ELSE [] END AS depth
  UNWIND levels[depth] AS step
  WITH origin, step[0] AS id, min(depth) AS depth
  WHERE id <> origin[0]
  WITH id ORDER BY depth, id LIMIT $limit
  RETURN collect(id) AS ids
}
CALL (ids) {
  UNWIND CASE WHEN $include_entities THEN ids ELSE [] END AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner AND entity.listed IS NOT NULL
  RETURN collect(entity) AS entities
}
WITH revision, origin, levels, whole, keys, has_rows, ids + origin[0] AS ends, entities,
  [entity IN entities | entity.size] AS sizes
WITH revision, origin, levels, whole, keys, has_rows, ends, entities, <entity._fitting> AS fitting
<entity._rows>
CALL (keys, ends, has_rows) {
  UNWIND CASE WHEN has_rows THEN keys ELSE [] END AS key
  WITH key, ends, split(key, ':') AS parts
  WHERE parts[1] IN ends AND parts[2] IN ends
  MATCH (relationship:Relationship {key: key})
  WHERE relationship.owner = $owner AND relationship.live
  RETURN collect(relationship) AS matches
}
RETURN origin, levels, whole, revision, page AS entities,
  CASE WHEN has_rows AND reduce(characters = 0, relationship IN matches | characters + relationship.size) <= 8000000
    THEN [relationship IN matches | <relationship._row>] END AS relationships
