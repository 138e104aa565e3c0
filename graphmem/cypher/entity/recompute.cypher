// entity.recompute: the own state of some entities as of two clocks: their own observations reduced without schema
// rules. No row for an entity of another owner; no tallies where no observation may count.
//
// params  entity_ids: LIST<STRING>, at: INTEGER, at_ingested: INTEGER
// returns snapshots: LIST<LIST>, known: INTEGER
// mode    read
// index   owner_id, entity_id, observed_in_time (home, at), schema_head
// cost    light
// `known` is the owner's last recorded_at. It is read first, and commits after it are left out of the whole answer. A
// row ends with whether the entity was ever merged, and with the head of its type's schema: if the schema has rules,
// the caller folds the observations itself. `name` is the name that the entity has now, if it was the same when it was
// known: the name of an entity of which nothing counts yet. `stale`: it was folded under another schema than today's.
<owner._known>
CALL (known) {
  UNWIND $entity_ids AS subject_id
  MATCH (entity:Entity {id: subject_id})
  WHERE entity.owner = $owner
  CALL (entity) {
    OPTIONAL MATCH (head:Schema)
    USING INDEX SEEK head:Schema(owner, head)
    WHERE head.owner = $owner AND head.head = entity.type
    RETURN head.projection AS projection, head.active_version AS active_version, head.document AS document
  }
  CALL (entity, subject_id, known) {
    // The snapshot names every field, but where a schema or a withdrawal leaves some out.
    WITH known, CASE WHEN $at < <fact._latest> AND (entity.projection IS NOT NULL OR entity.excluded IS NOT NULL)
      THEN subject_id END AS home
    MATCH ()-[seen:OBSERVED]->(observation)
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = home AND seen.at <= <fact._latest> AND seen.recorded_at <= known
      AND seen.kind IN <fact._value_kinds>
    WITH DISTINCT observation.fields AS names
    UNWIND names AS name
    RETURN collect(name) AS observed
  }
  // Few entities say when their values held: of the others nothing after `$at` is read.
  WITH *, CASE WHEN $at < <fact._latest> AND any(name IN observed + coalesce(entity.fields, [])
      WHERE replace(replace(replace(toLower(name), '_', ''), '-', ''), ' ', '') IN <fact._names_of_dates>)
    THEN <fact._latest> ELSE $at END AS until
  CALL (subject_id, known, until, projection) {
    WITH subject_id, known, projection WHERE until = $at
    CALL (subject_id, known, projection) {
      <observation._undated>
    }
    RETURN tallies, winners
    UNION ALL
    WITH subject_id, known, until, projection WHERE until > $at
    CALL (subject_id, known, until) {
      <observation._tally_by_dates>
    }
    CALL (subject_id, known, until, projection) {
      WITH subject_id, known, until WHERE projection IS NULL
      <observation._winners_by_dates>
    }
    RETURN tallies, winners
  }
  WITH entity, tallies, winners, active_version, document, EXISTS { (entity)-[:MERGED]-() } AS merging,
    coalesce(entity.projection, '') <> coalesce(projection, '') AS stale
  RETURN collect([entity.id, entity.type, tallies, winners, merging, active_version, document,
    CASE WHEN NOT merging AND entity.updated_at <= known THEN entity.canonical_name END, stale]) AS snapshots
}
RETURN snapshots, known
