// change.surroundings: some entities with all entities that were ever merged with them, their relationships, and where it
// is wanted their neighbours; the relationships that were observed last come first.
//
// params  entity_ids: LIST<STRING>, neighbours: BOOLEAN, limit: INTEGER
// returns entities: LIST<STRING>, keys: LIST<STRING>
// mode    read
// index   entity_id, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id)
// cost    light
CALL () {
  UNWIND $entity_ids AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  MATCH (entity)-[:MERGED*0..]-(member:Entity)
  RETURN collect(DISTINCT member.id) AS members
}
CALL (members) {
  UNWIND members AS id
  CALL (id) {
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.source = id AND relationship.last_observation_at IS NOT NULL
      AND relationship.id IS NOT NULL
    RETURN relationship, relationship.target AS neighbour
    ORDER BY relationship.owner DESC, relationship.source DESC, relationship.last_observation_at DESC, relationship.id DESC
    LIMIT $limit
    UNION ALL
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.target = id AND relationship.last_observation_at IS NOT NULL
      AND relationship.id IS NOT NULL
    RETURN relationship, relationship.source AS neighbour
    ORDER BY relationship.owner DESC, relationship.target DESC, relationship.last_observation_at DESC, relationship.id DESC
    LIMIT $limit
  }
  RETURN collect(DISTINCT relationship.key) AS keys, collect(DISTINCT neighbour) AS around
}
RETURN members + CASE WHEN $neighbours THEN [id IN around WHERE NOT id IN members] ELSE [] END AS entities, keys
