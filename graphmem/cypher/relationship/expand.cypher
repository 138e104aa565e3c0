// relationship.expand: one level of a traversal: what is one live step away from some entities.
//
// params  frontier: LIST<STRING>, reached: LIST<STRING>, origin: STRING, outgoing: BOOLEAN, incoming: BOOLEAN,
//         hub: INTEGER, room: INTEGER, most: INTEGER
// returns origin: LIST, next: LIST<STRING>, more: BOOLEAN, edges: LIST<LIST>, cut: BOOLEAN, hubs: LIST<STRING>,
//         revision: INTEGER
// mode    read
// index   entity_id, relationship_key, relationship_type_name
// cost    light
// An entity of more than `hub` relationships is reached but not passed through, the origin excepted. New entities
// are taken in the order of their ids while there is `room`; relationships between the entities taken, at most
// `most`, in the order of their keys. No value is read but those of these relationships. `revision` is that of the
// vocabulary of relationship types, read before the relationships are.
OPTIONAL MATCH <relationship_type._gate>
WITH coalesce(gate.revision, 0) AS revision LIMIT 1
MATCH (entity:Entity {id: $origin})
WHERE entity.owner = $owner AND entity.live
WITH revision, <entity._row> AS origin
CALL () {
  UNWIND $frontier AS id
  MATCH (node:Entity {id: id})
  WHERE node.owner = $owner AND node.id <> $origin AND COUNT { (node)--() } > $hub
  CALL (node) {
    // No COUNT { } here: planning one of some 200 types takes the server minutes.
    MATCH (node)-[edge:RELATIONSHIP_TYPES]-()
    WITH edge LIMIT $hub + 1
    RETURN count(edge) AS walkable
  }
  WITH node WHERE walkable > $hub
  RETURN collect(node.id) AS hubs
}
CALL (hubs) {
  UNWIND $frontier AS id
  WITH id WHERE NOT id IN hubs
  MATCH (node:Entity {id: id})
  WHERE node.owner = $owner
  MATCH (node)-[edge:RELATIONSHIP_TYPES]-(other)
  WHERE edge.live AND other.owner = $owner AND other.listed IS NOT NULL
    AND (($outgoing AND startNode(edge) = node) OR ($incoming AND endNode(edge) = node))
  WITH other.id AS id, collect(DISTINCT edge.key) AS keys, other.id IN $reached AS known
  ORDER BY id
  RETURN collect(CASE WHEN known THEN keys END) AS between, collect(CASE WHEN NOT known THEN [id, keys] END) AS found
}
WITH revision, origin, hubs, size(found) > $room AS more, [pair IN found[..$room] | pair[0]] AS next,
  between + [pair IN found[..$room] | pair[1]] AS walked
CALL (walked) {
  UNWIND walked AS keys
  UNWIND keys AS key
  WITH DISTINCT key ORDER BY key LIMIT $most + 1
  WITH collect(key) AS kept
  CALL (kept) {
    UNWIND kept[..$most] AS key
    MATCH (relationship:Relationship {key: key})
    RETURN collect(<relationship._row>) AS edges
  }
  RETURN edges, size(kept) > $most AS cut
}
RETURN origin, next, more, edges, cut, hubs, revision
