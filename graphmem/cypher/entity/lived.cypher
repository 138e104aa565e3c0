// entity.lived: the type of each of some entities, and whether it was live as of two clocks; entities that do not
// exist are left out.
//
// params  entity_ids: LIST<STRING>, at: INTEGER, at_ingested: INTEGER, by_writer: BOOLEAN
// returns entities: LIST<LIST>, known: INTEGER
// mode    read
// index   owner_id, entity_id, observed_in_time (home, at)
// cost    light
<owner._known>
CALL (known) {
  UNWIND $entity_ids AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  CALL (entity, known) {
    <entity._lived>
  }
  RETURN collect([entity.id, lived, entity.type]) AS entities
}
RETURN entities, known
