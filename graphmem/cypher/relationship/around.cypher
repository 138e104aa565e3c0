// relationship.around: a small walk of one or two steps, as relationship.reach answers it, with the rows of its first
// entities and of the relationships between them.
//
// params  origin: STRING, outgoing: BOOLEAN, incoming: BOOLEAN, depth: INTEGER, hub: INTEGER, most: INTEGER,
//         types: LIST<STRING>, links: INTEGER, limit: INTEGER, include_entities: BOOLEAN
// returns origin: LIST, levels: LIST<LIST>, whole: BOOLEAN, revision: INTEGER, entities: LIST<LIST>,
//         relationships: LIST<LIST>
// mode    read
// index   entity_id, relationship_type_name, relationship_key, schema_head (owner, head)
// cost    light
// `types` are those of relationship._followed. A row of a level is the id of an entity and the key of a relationship that leads to it; each relationship has a row.
// The first entities are `limit` at most, in the order of their steps and ids. `relationships` has those that have both
// ends among them and the origin. It is null, and there are no rows, if the walk is not `whole`, has more than `links`
// relationships, or these do not fit into an answer. As in entity.by_id, entities that do not fit are left out.
// It is light because it answers each relationship that it reads, in `levels`. PROFILE counts some 7 hits for each, and
// 6 more for one with its row: 14,000 hits for the 2,000 relationships that `most` allows.
OPTIONAL MATCH <relationship_type._gate>
WITH coalesce(gate.revision, 0) AS revision LIMIT 1
MATCH (requested_entity:Entity {id: $origin})
WHERE requested_entity.owner = $owner
MATCH (requested_entity)-[:MERGED_INTO*0..]->(root:Entity)
WHERE root.merged_into IS NULL AND root.live
WITH revision, root, COUNT { (root)--() } AS root_degree
CALL (root, root_degree) {
  WITH root WHERE root_degree <= $hub AND root_degree <= $most
  MATCH (root)-[edge:RELATIONSHIP_TYPES]-(other)
  WHERE edge.live AND <relationship._followed> AND other.owner = $owner AND other.listed IS NOT NULL
    AND CASE WHEN startNode(edge) = root THEN $outgoing ELSE $incoming END
  RETURN collect([other.id, edge.key]) AS first, collect(DISTINCT other) AS near
}
CALL (near) {
  UNWIND CASE WHEN $depth = 2 THEN near ELSE [] END AS node
  WITH COUNT { (node)--() } AS degree
  RETURN coalesce(max(degree), 0) AS greatest_degree, coalesce(sum(degree), 0) AS spent
}
WITH revision, root, first, near,
  root_degree <= $hub AND greatest_degree <= $hub AND root_degree + spent <= $most AS whole
CALL (near, whole) {
  UNWIND CASE WHEN whole AND $depth = 2 THEN near ELSE [] END AS node
  MATCH (node)-[edge:RELATIONSHIP_TYPES]-(other)
  WHERE edge.live AND <relationship._followed> AND other.owner = $owner AND other.listed IS NOT NULL
    AND CASE WHEN startNode(edge) = node THEN $outgoing ELSE $incoming END
  RETURN collect([other.id, edge.key]) AS second, collect(DISTINCT other) AS far
}
CALL (first, second, whole) {
  UNWIND CASE WHEN whole THEN first + second ELSE [] END AS step
  WITH DISTINCT step[1] AS key LIMIT $links + 1
  RETURN collect(key) AS keys
}
WITH revision, root, first, second, near, far, whole, keys, whole AND size(keys) <= $links AS has_rows
CALL (root, near, far, has_rows) {
  UNWIND CASE WHEN has_rows THEN [1, 2] ELSE [] END AS depth
  UNWIND CASE WHEN depth = 1 THEN near ELSE far END AS entity
  WITH root, entity, min(depth) AS depth
  WHERE entity <> root
  WITH entity ORDER BY depth, entity.id LIMIT $limit
  RETURN collect(entity) AS entities
}
WITH revision, root, first, second, whole, keys, has_rows, entities,
  [entity IN entities | entity {.id, .size}] AS maps
WITH revision, root, first, second, whole, keys, has_rows, entities, [map IN maps | map.id] + root.id AS ends,
  [map IN maps | map.size] AS sizes
WITH revision, root, first, second, whole, keys, has_rows, entities, ends,
  CASE WHEN $include_entities THEN <entity._fitting> ELSE 0 END AS fitting
<entity._rows>
CALL (keys, ends, has_rows) {
  UNWIND CASE WHEN has_rows THEN keys ELSE [] END AS key
  WITH key, ends, split(key, ':') AS parts
  WHERE parts[1] IN ends AND parts[2] IN ends
  MATCH (relationship:Relationship {key: key})
  WITH relationship, relationship {.owner, .live, .size} AS map
  WHERE map.owner = $owner AND map.live
  RETURN collect(relationship) AS matches, sum(map.size) AS characters
}
RETURN [root.id, root.type, root.canonical_name, root.version] AS origin, [first, second][..$depth] AS levels, whole,
  revision, page AS entities,
  CASE WHEN has_rows AND characters <= 8000000 THEN [relationship IN matches | <relationship._row>] END AS relationships
