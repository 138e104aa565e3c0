// entity.recompute: the own state of some entities as of two clocks: their own observations reduced without schema
// rules. No row for an entity of another owner; no tallies where no observation may count.
//
// params  entity_ids: LIST<STRING>, kinds: LIST<STRING>, joining: LIST<STRING>, at: INTEGER, at_ingested: INTEGER,
//         by_writer: BOOLEAN
// returns snapshots: LIST<LIST>, known: INTEGER
// mode    read
// index   owner_id, entity_id, observed_in_time (home, at), schema_head, identifier_value (owner, kind, value)
// cost    light
// sealing joining: clear
// `known` is the owner's last recorded_at. It is read first, and commits after it are left out of the whole answer. A
// row ends with whether the entity was ever merged, and with the head of its type's schema: if the schema has rules,
// the caller folds the observations itself. `name` is the name that the entity has now, if it was the same when it was
// known: the name of an entity of which nothing counts yet. `stale`: it was folded under another schema than today's.
// `alone`: no other entity bears or bore a key that this one has or had, or its id, or a name of the group of a name of it,
// so no shipped rule of `kinds` merged it at any time. An entity is not said to be alone where the owner has, or had, types
// of `joining`: the keys of these are other ids.
<owner._known>
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IN $joining
  RETURN count(counted) > 0 AS joins
}
CALL (known, joins) {
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
    WHERE seen.home = home AND seen.at <= <fact._latest> AND <observation._learned>
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
    coalesce(entity.projection, '') <> coalesce(projection, '') AS stale, joins
  CALL (entity, document, merging, stale, joins) {
    WITH entity WHERE document IS NULL AND NOT merging AND NOT stale AND NOT joins
    MATCH (entity)<-[:IDENTIFIES|identified]-(key:Identifier)
    WHERE key.kind STARTS WITH 'key:'
    CALL (entity, key) {
      MATCH (key)-[:IDENTIFIES|identified]->(other:Entity)
      RETURN other
      UNION ALL
      MATCH (other:Entity {id: key.value})
      RETURN other
      UNION ALL
      WITH key WHERE key.kind STARTS WITH 'key:near:'
      MATCH (near:Identifier)
      USING INDEX SEEK near:Identifier(owner, kind, value)
      WHERE near.owner = $owner AND near.kind = key.kind AND near.value STARTS WITH split(key.value, '|')[0] + '|'
      MATCH (near)-[:IDENTIFIES|identified]->(other:Entity)
      RETURN other
    }
    WITH entity, other WHERE other <> entity
    RETURN count(*) > 0 AS shared
  }
  CALL (entity) {
    UNWIND $kinds AS kind
    MATCH (key:Identifier)
    USING INDEX SEEK key:Identifier(owner, kind, value)
    WHERE key.owner = $owner AND key.kind = kind AND key.value = entity.id
    MATCH (key)-[:IDENTIFIES|identified]->(bearer:Entity)
    WHERE bearer <> entity
    RETURN count(*) > 0 AS borne
  }
  RETURN collect([entity.id, entity.type, tallies, winners, merging, active_version, document,
    CASE WHEN NOT merging AND entity.updated_at <= known THEN entity.canonical_name END, stale,
    document IS NULL AND NOT (merging OR stale OR joins OR shared OR borne)]) AS snapshots
}
RETURN snapshots, known
