// change.subjects: what is known of some entities and relationships beside their observations: types, names, what was
// ever merged with them, and whether they were observed before a moment; and the schemas of the types.
//
// params  entity_ids: LIST<STRING>, subject_ids: LIST<STRING>, before: INTEGER
// returns entities: LIST<LIST>, older: LIST<STRING>, documents: LIST<LIST>
// mode    read
// index   entity_id, schema_head, observed_in_time (home, at)
// cost    light
CALL () {
  UNWIND $entity_ids AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  RETURN collect([entity.id, entity.type, entity.canonical_name, 
      COLLECT { MATCH (entity)-[:MERGED*1..]-(other:Entity) RETURN DISTINCT other.id }]) AS entities,
    collect(DISTINCT entity.type) AS types
}
CALL () {
  UNWIND $subject_ids AS subject_id
  CALL (subject_id) {
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = subject_id AND seen.at IS NOT NULL AND seen.recorded_at < $before AND observation.owner = $owner
    RETURN true AS found LIMIT 1
  }
  RETURN collect(subject_id) AS older
}
CALL (types) {
  UNWIND types AS type
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = type AND head.document IS NOT NULL
  RETURN collect([type, head.document]) AS documents
}
RETURN entities, older, documents
