// relationship.expand: one level of a walk: the entities that are one live relationship away from some entities, by
// id.
//
// params  frontier: LIST<STRING>, origin: STRING, outgoing: BOOLEAN, incoming: BOOLEAN, hub: INTEGER,
//         types: LIST<STRING>, through: BOOLEAN, most: INTEGER, after: STRING, room: INTEGER
// returns origin: LIST, neighbours: LIST<LIST>, total: INTEGER, links: INTEGER, hubs: LIST<STRING>, spent: INTEGER,
//         unexplored: INTEGER, revision: INTEGER, dated: LIST<LIST>
// mode    read
// index   entity_id, relationship_type_name
// cost    light
// A row of `neighbours` is the id of an entity and the keys of the relationships that lead to it. Only entities with
// an id greater than `after` are in it, and at most `room` of them; `total` and `links` count all of them and their
// relationships.
//
// An entity with more than `hub` relationships is a hub (`hubs`): the walk does not expand it, unless `through` is
// true. Of the other entities the walk expands the first ones, in the given order, that have `most` relationships
// together. `spent` is how many relationships these have; `unexplored` counts the entities that are not expanded. A
// degree includes deleted relationships, because Neo4j answers it from a counter.
//
// No value is read, and rows hold only strings: the server needs three times as long for a number. `revision` is that
// of the vocabulary of relationship types, read before the relationships.
OPTIONAL MATCH <relationship_type._gate>
WITH coalesce(gate.revision, 0) AS revision LIMIT 1
MATCH (requested_entity:Entity {id: $origin})
WHERE requested_entity.owner = $owner
MATCH (requested_entity)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND entity.live
WITH revision, [entity.id, entity.type, entity.canonical_name, entity.version] AS origin
CALL () {
  UNWIND range(0, size($frontier) - 1) AS i
  MATCH (requested_entity:Entity {id: $frontier[i]})
  WHERE requested_entity.owner = $owner
  MATCH (requested_entity)-[:MERGED_INTO*0..]->(node:Entity)
  WHERE node.merged_into IS NULL
  WITH i, node, COUNT { (node)--() } AS edges
  CALL (node, edges) {
    // No COUNT { } of these types: planning one of some 200 types takes the server minutes.
    WITH node WHERE edges > $hub
    MATCH (node)-[edge:RELATIONSHIP_TYPES]-()
    WHERE <relationship._followed>
    RETURN count(edge) AS walkable
  }
  WITH i, node, CASE WHEN edges <= $hub THEN edges ELSE walkable END AS degree
  ORDER BY i
  RETURN collect([node, degree, $through OR degree <= $hub]) AS nodes
}
WITH revision, origin, [entry IN nodes WHERE entry[2]] AS passable,
  [entry IN nodes WHERE NOT entry[2] | entry[0].id] AS hubs
WITH revision, origin, passable, hubs, reduce(spent = [0, 0], entry IN passable |
  CASE WHEN spent[0] + entry[1] <= $most THEN [spent[0] + entry[1], spent[1] + 1]
    ELSE [$most + 1, spent[1]] END) AS spent
WITH revision, origin, hubs, spent[0] AS spent, size(passable) - spent[1] AS unexplored,
  passable[..spent[1]] AS expanded
CALL (expanded) {
  UNWIND expanded AS entry
  WITH entry[0] AS node
  MATCH (node)-[edge:RELATIONSHIP_TYPES]-(other)
  WHERE edge.live AND <relationship._followed> AND other.owner = $owner AND other.listed IS NOT NULL
    AND other.id > $after
    AND CASE WHEN startNode(edge) = node THEN $outgoing ELSE $incoming END
  WITH other.id AS id, collect(edge.key) AS keys
  ORDER BY id
  RETURN collect([id] + keys) AS neighbours
}
RETURN origin, neighbours[..$room] AS neighbours, size(neighbours) AS total,
  reduce(links = 0, neighbour IN neighbours | links + size(neighbour) - 1) AS links, hubs, spent, unexplored, revision,
  [] AS dated
