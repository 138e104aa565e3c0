// owner.thin: erase some edges of an entity that has too many for one transaction, and what is found by them alone.
//
// params  entity_id: STRING, relationship_types: LIST<STRING>, limit: INTEGER
// returns erased: INTEGER
// mode    write
// index   entity_id, relationship_key
// cost    light
MATCH (entity:Entity {id: $entity_id})
WHERE entity.owner = $owner
CALL (entity) {
  CALL (entity) {
    MATCH (entity)-[:HAS_EVENT|HAS_VALUE]->(node)
    RETURN node
    UNION ALL
    MATCH (entity)-[:HAS_HISTORY]->(:History)-[:HAD_EVENT]->(node)
    RETURN node
    UNION ALL
    <owner._unobserved>
    RETURN relationship AS node
  }
  WITH node LIMIT $limit
  DETACH DELETE node
  RETURN count(*) AS nodes
}
CALL (entity) {
  MATCH (entity)-[edge]-()
  WHERE NOT type(edge) IN ['HAS_HISTORY', 'HAS_EVENT', 'HAS_VALUE']
  WITH edge LIMIT $limit
  DELETE edge
  RETURN count(*) AS edges
}
RETURN nodes + edges AS erased
