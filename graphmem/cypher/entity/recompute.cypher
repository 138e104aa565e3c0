// entity.recompute: what entities come to from their own observations, as of two clocks, under plain rules.
// No row for an entity that is not the owner's; counts of 0 where nothing is visible.
//
// params  entity_ids: LIST<STRING>, at: INTEGER, at_ingested: INTEGER
// returns snapshots: LIST<LIST>, known: INTEGER
// mode    read
// index   owner_id, entity_id, observed_in_time (home, at), schema_head
// cost    light
// What is committed while this runs is left out of all of it: the owner's last recorded_at is read first, and is
// `known`. The last parts say whether it was ever part of a merge, and the head of its type's schema: where that has
// rules of its own, its observations are folded by the caller.
<owner._known>
CALL (known) {
  UNWIND $entity_ids AS home
  MATCH (entity:Entity {id: home})
  WHERE entity.owner = $owner
  CALL (entity) {
    OPTIONAL MATCH (head:Schema)
    USING INDEX SEEK head:Schema(owner, head)
    WHERE head.owner = $owner AND head.head = entity.type
    RETURN head.projection AS projection, head.active_version AS active_version, head.document AS document
  }
  CALL (home, known) {
    <observation._tally>
  }
  CALL (home, known, projection) {
    WITH home, known WHERE projection IS NULL
    <observation._winners>
  }
  RETURN collect([entity.id, entity.type, version, observations, created_at, last_observation_at, turn, fold,
    EXISTS { (entity)-[:MERGED]-() }, active_version, document]) AS snapshots
}
RETURN snapshots, known
