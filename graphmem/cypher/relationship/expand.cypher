// relationship.expand: one level of a walk: the entities one live relationship away from some entities, by id.
//
// params  frontier: LIST<STRING>, origin: STRING, outgoing: BOOLEAN, incoming: BOOLEAN, hub: INTEGER,
//         through: BOOLEAN, most: INTEGER, after: STRING, room: INTEGER
// returns origin: LIST, found: LIST<LIST>, total: INTEGER, links: INTEGER, hubs: LIST<STRING>, spent: INTEGER,
//         unexplored: INTEGER, revision: INTEGER
// mode    read
// index   entity_id, relationship_type_name
// cost    light
// `found` has, for each entity that is reached, its id and the keys of the relationships to it: entities with an id
// greater than `after`, at most `room`. `total` and `links` count all of them and their relationships. The walk does
// not go `through` entities with more than `hub` relationships (`hubs`). Of the others it expands, in the given order,
// as many as have `most` relationships together (`spent`); the rest is `unexplored`. A degree includes deleted
// relationships, because Neo4j answers it from a counter. No value is read, and only strings are sent: the server
// needs three times as long for a number. `revision` is that of the vocabulary of relationship types, read before the
// relationships.
OPTIONAL MATCH <relationship_type._gate>
WITH coalesce(gate.revision, 0) AS revision LIMIT 1
MATCH (given:Entity {id: $origin})
WHERE given.owner = $owner
MATCH (given)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND entity.live
WITH revision, [entity.id, entity.type, entity.canonical_name, entity.version] AS origin
CALL () {
  UNWIND range(0, size($frontier) - 1) AS i
  MATCH (given:Entity {id: $frontier[i]})
  WHERE given.owner = $owner
  MATCH (given)-[:MERGED_INTO*0..]->(node:Entity)
  WHERE node.merged_into IS NULL
  WITH i, node, COUNT { (node)--() } AS every
  CALL (node, every) {
    // No COUNT { } of these types: planning one of some 200 types takes the server minutes.
    WITH node WHERE every > $hub
    MATCH (node)-[edge:RELATIONSHIP_TYPES]-()
    RETURN count(edge) AS walkable
  }
  WITH i, node, CASE WHEN every <= $hub THEN every ELSE walkable END AS degree
  ORDER BY i
  RETURN collect([node, degree, $through OR degree <= $hub]) AS nodes
}
WITH revision, origin, [one IN nodes WHERE one[2]] AS passed, [one IN nodes WHERE NOT one[2] | one[0].id] AS hubs
WITH revision, origin, passed, hubs, reduce(spent = [0, 0], one IN passed |
  CASE WHEN spent[0] + one[1] <= $most THEN [spent[0] + one[1], spent[1] + 1] ELSE [$most + 1, spent[1]] END) AS spent
WITH revision, origin, hubs, spent[0] AS spent, size(passed) - spent[1] AS unexplored, passed[..spent[1]] AS taken
CALL (taken) {
  UNWIND taken AS one
  WITH one[0] AS node
  MATCH (node)-[edge:RELATIONSHIP_TYPES]-(other)
  WHERE edge.live AND other.owner = $owner AND other.listed IS NOT NULL AND other.id > $after
    AND CASE WHEN startNode(edge) = node THEN $outgoing ELSE $incoming END
  WITH other.id AS id, collect(edge.key) AS keys
  ORDER BY id
  RETURN collect([id] + keys) AS found
}
RETURN origin, found[..$room] AS found, size(found) AS total, reduce(links = 0, one IN found | links + size(one) - 1) AS links,
  hubs, spent, unexplored, revision
