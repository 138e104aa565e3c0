// search.related: the entities at the other ends of some relationships of some entities, newest first.
//
// params  entity_ids: LIST<STRING>, outgoing: LIST<STRING>, incoming: LIST<STRING>, types: LIST<STRING>,
//         scanned: INTEGER, characters: INTEGER, limit: INTEGER
// returns related: LIST<LIST>
// mode    read
// index   entity_id, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id)
// cost    light
// `outgoing` and `incoming` are relationship types; of a null list every type counts. No `types` of entities means
// every type. Of each entity the newest `scanned` relationships in each direction are compared. A row is the id of the
// entity, the key and the type of the relationship, the id of the other entity, the metadata (values of at most
// `characters`), and the mark of a relationship that is to be folded again.
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL
CALL (entity) {
  CALL (entity) {
    CALL (entity) {
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.source = entity.id
        AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
      RETURN relationship
      ORDER BY relationship.owner DESC, relationship.source DESC, relationship.last_observation_at DESC,
        relationship.id DESC LIMIT $scanned
    }
    WITH relationship
    WHERE ($outgoing IS NULL OR relationship.type IN $outgoing) AND relationship.shown_as IS NULL AND relationship.live
    RETURN relationship, relationship.target AS other_id
    UNION ALL
    CALL (entity) {
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.target = entity.id
        AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
      RETURN relationship
      ORDER BY relationship.owner DESC, relationship.target DESC, relationship.last_observation_at DESC,
        relationship.id DESC LIMIT $scanned
    }
    WITH relationship
    WHERE ($incoming IS NULL OR relationship.type IN $incoming) AND relationship.shown_as IS NULL AND relationship.live
    RETURN relationship, relationship.source AS other_id
  }
  MATCH (other:Entity {id: other_id})
  WHERE other.listed IS NOT NULL AND other.owner = $owner AND (size($types) = 0 OR other.type IN $types)
  WITH relationship, other
  ORDER BY relationship.last_observation_at DESC, relationship.id DESC LIMIT $limit
  RETURN relationship, other
}
RETURN collect([entity.id, relationship.key, relationship.type, other.id,
  [i IN range(0, size(relationship.fields) - 1) WHERE size(relationship.values[i]) <= $characters
    | [relationship.fields[i], relationship.values[i]]],
  relationship.refold]) AS related
