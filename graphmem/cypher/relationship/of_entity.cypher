// relationship.of_entity: one page of the live relationships at one entity, newest first, with the entities
// at their other ends and the total; no row if the entity is not the owner's.
//
// params  entity_id: STRING, offset: INTEGER, limit: INTEGER, reach: INTEGER
// returns version: INTEGER, page: LIST<LIST>, others: LIST<LIST>, outgoing: INTEGER, incoming: INTEGER
// mode    read
// index   entity_id, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id)
// cost    light
// A hub costs no more than its page: `reach` is offset + limit, and the totals are the stored degrees.
MATCH (origin:Entity {id: $entity_id})
WHERE origin.owner = $owner
CALL () {
  CALL () {
    MATCH (relationship:Relationship)
    WHERE relationship.owner = $owner AND relationship.source = $entity_id AND relationship.live
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship, relationship.target AS other
    ORDER BY relationship.owner DESC, relationship.source DESC, relationship.last_observation_at DESC,
      relationship.id DESC LIMIT $reach
    UNION ALL
    MATCH (relationship:Relationship)
    WHERE relationship.owner = $owner AND relationship.target = $entity_id AND relationship.live
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship, relationship.source AS other
    ORDER BY relationship.owner DESC, relationship.target DESC, relationship.last_observation_at DESC,
      relationship.id DESC LIMIT $reach
  }
  WITH relationship, other
  ORDER BY relationship.last_observation_at DESC, relationship.id DESC SKIP $offset LIMIT $limit
  MATCH (entity:Entity {id: other})
  WITH relationship, entity ORDER BY relationship.last_observation_at DESC, relationship.id DESC
  RETURN collect(<relationship._row>) AS page, collect(DISTINCT <entity._row>) AS others
}
RETURN origin.version AS version, page, others,
  COUNT { (origin)-[:RELATIONSHIP_TYPES]->() } AS outgoing,
  COUNT { (origin)<-[:RELATIONSHIP_TYPES]-() } AS incoming
