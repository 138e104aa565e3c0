// relationship.expand: one level of a traversal: the live relationships at some entities and their other ends.
//
// params  frontier: LIST<STRING>, origin: STRING, outgoing: BOOLEAN, incoming: BOOLEAN, hub: INTEGER, fanout: INTEGER
// returns origin: LIST, edges: LIST<LIST>, entities: LIST<LIST>, hubs: LIST<STRING>
// mode    read
// index   entity_id, relationship_key
// cost    light
// An entity of more than `hub` relationships is reached but not passed through, the origin excepted.
MATCH (entity:Entity {id: $origin})
WHERE entity.owner = $owner AND entity.live
WITH <entity._row> AS origin
CALL () {
  UNWIND $frontier AS id
  MATCH (node:Entity {id: id})
  WHERE node.owner = $owner AND node.id <> $origin AND COUNT { (node)-[:RELATIONSHIP_TYPES]-() } > $hub
  RETURN collect(node.id) AS hubs
}
CALL (hubs) {
  UNWIND $frontier AS id
  WITH id WHERE NOT id IN hubs
  MATCH (node:Entity {id: id})
  WHERE node.owner = $owner
  CALL (node) {
    MATCH (node)-[edge:RELATIONSHIP_TYPES]-(other)
    WHERE edge.live AND other.owner = $owner AND other.listed IS NOT NULL
      AND (($outgoing AND startNode(edge) = node) OR ($incoming AND endNode(edge) = node))
    RETURN edge, other ORDER BY edge.key LIMIT $fanout
  }
  WITH DISTINCT edge.key AS key
  MATCH (relationship:Relationship {key: key})
  WITH relationship ORDER BY relationship.key
  RETURN collect(<relationship._row>) AS edges
}
CALL (edges) {
  UNWIND edges AS edge
  UNWIND [edge[3], edge[4]] AS id
  WITH DISTINCT id
  MATCH (entity:Entity {id: id})
  WITH entity ORDER BY entity.id
  RETURN collect(<entity._row>) AS entities
}
RETURN origin, edges, entities, hubs
