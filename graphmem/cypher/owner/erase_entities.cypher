// owner.erase_entities: erase some of an owner's entities with their histories, timeline events, filterable values,
// vectors and edges.
//
// params  relationship_types: LIST<STRING>, limit: INTEGER
// returns entities: INTEGER, crowded: STRING
// mode    write
// index   entity_by_state (owner, type, live, id), relationship_key, meaning_entity
// cost    light
// sealing crowded: clear
// `limit` bounds the entities, and their weight, that are erased. If the first entity alone has more edges, none is
// erased: `crowded` is its id then, and owner.thin takes edges from it. Nothing is left if no entity was erased and
// `crowded` is null.
CALL () {
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, type, live, id)
  WHERE entity.owner = $owner AND entity.type IS NOT NULL AND entity.live IS NOT NULL AND entity.id IS NOT NULL
  RETURN entity LIMIT $limit
}
CALL (entity) {
  <owner._unobserved>
  WITH relationship LIMIT $limit
  RETURN collect(relationship) AS unobserved
}
WITH entity, unobserved, COUNT { (entity)--() } + size(unobserved)
  + COUNT { (entity)-[:HAS_HISTORY]->(:History)-[:HAD_EVENT]->() } AS edges
WITH collect([entity, unobserved]) AS stretch, collect(edges + coalesce(entity.size, 0) / 4000) AS weights,
  collect(edges) AS edges
WITH stretch, CASE WHEN edges[0] > $limit THEN 0 ELSE <owner._batch> END AS fitting
CALL (stretch, fitting) {
  UNWIND stretch[..fitting] AS item
  WITH item[0] AS entity, item[1] AS unobserved
  OPTIONAL MATCH (entity)-[:HAS_HISTORY]->(history:History)
  OPTIONAL MATCH (meaning:Meaning {entity_id: entity.id})
  WITH entity, history, meaning, unobserved + [(entity)-[:HAS_EVENT|HAS_VALUE]->(node) | node]
    + [(entity)-[:HAS_HISTORY]->(:History)-[:HAD_EVENT]->(node) | node] AS nodes
  FOREACH (node IN nodes | DETACH DELETE node)
  DETACH DELETE meaning, history, entity
  RETURN count(*) AS entities
}
RETURN entities, CASE WHEN fitting = 0 AND size(stretch) > 0 THEN stretch[0][0].id END AS crowded
