// entity.evidence: what some entities, what bears some ids and what is named in some groups say of their identity, with the
// facts that merge, separate and dismiss them, and the registered schemas of their types.
//
// params  entity_ids: LIST<STRING>, kinds: LIST<STRING>, borne: LIST<LIST>, near: LIST<LIST>, known: LIST<STRING>,
//         types: LIST<STRING>, fields: LIST<STRING>, joining: LIST<STRING>, at_ingested: INTEGER,
//         by_writer: BOOLEAN, limit: INTEGER
// returns entities: LIST<LIST>, bearers: LIST<LIST>, reached: LIST<STRING>, documents: LIST<LIST>, joins: BOOLEAN
// mode    read
// index   entity_id, identifier_value (owner, kind, value), observed_in_time (home, at), schema_head (owner, head),
//         dismissal_by_a (owner, entity_a, entity_b), dismissal_by_b (owner, entity_b, entity_a)
// cost    light
// sealing borne: pairs, near: pairs, joining: clear, reached: clear
// With the entities come those whose ids they bear; `reached` has both. What bears the ids of these, by `kinds` of keys, is in
// `bearers`: [kind, id, entity id]. So is what has, or had, a key of `borne`, [kind, id], and of `near`, [kind, beginning];
// graphmem.writing.things has the keys. `known` are read already. `types` are those that have a rule without a registered
// schema, `fields` the identifying fields, as they are and in lower case without blanks, hyphens and underscores. `joins`:
// the owner has, or had, entities of the types `joining`. A row of `entities` is [id, type, statements, merges and their
// ends, what was ever merged with it, dismissals, the ids that it bears by `kinds`]. Of observations that say the same and
// count alike the earliest is a statement: [recorded_at, the times at which it stopped and began again to count, names,
// values, its basis where that is its content, a name or a contact point].
CALL () {
  UNWIND $entity_ids AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  CALL (entity) {
    RETURN entity AS reached
    UNION
    MATCH (entity)<-[:IDENTIFIES|identified]-(identifier:Identifier)
    WHERE identifier.kind IN $kinds
    MATCH (reached:Entity {id: identifier.value})
    WHERE reached.owner = $owner
    RETURN reached
  }
  RETURN collect(DISTINCT reached.id) AS asked
}
CALL (asked) {
  UNWIND asked AS id
  UNWIND $kinds AS kind
  MATCH (identifier:Identifier {owner: $owner, kind: kind, value: id})
  MATCH (identifier)-[:IDENTIFIES|identified]->(entity:Entity)
  RETURN collect(DISTINCT [kind, id, entity.id]) AS around
}
CALL () {
  UNWIND $borne AS reference
  MATCH (identifier:Identifier {owner: $owner, kind: reference[0], value: reference[1]})
  MATCH (identifier)-[:IDENTIFIES|identified]->(entity:Entity)
  RETURN collect(DISTINCT [reference[0], reference[1], entity.id]) AS bearers
}
CALL () {
  UNWIND $near AS reference
  CALL (reference) {
    MATCH (identifier:Identifier)
    USING INDEX SEEK identifier:Identifier(owner, kind, value)
    WHERE identifier.owner = $owner AND identifier.kind = reference[0] AND identifier.value STARTS WITH reference[1]
    MATCH (identifier)-[:IDENTIFIES|identified]->(entity:Entity)
    RETURN DISTINCT entity.id AS id LIMIT $limit
  }
  RETURN collect([reference[0], reference[1], id]) AS named
}
CALL () {
  OPTIONAL MATCH (first:Dismissal)
  USING INDEX SEEK first:Dismissal(owner, entity_a, entity_b)
  WHERE first.owner = $owner AND first.entity_a IS NOT NULL AND first.entity_b IS NOT NULL
  RETURN first IS NOT NULL AS dismisses LIMIT 1
}
WITH asked, dismisses, around + bearers + named AS found
CALL (asked, found) {
  UNWIND asked + [each IN found | each[2]] AS id
  WITH DISTINCT id WHERE NOT id IN $known
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  RETURN collect(entity) AS read, collect(DISTINCT entity.type) AS types
}
CALL (types) {
  UNWIND types AS type
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = type AND head.document IS NOT NULL
  RETURN collect([type, head.document]) AS documents
}
CALL (read, documents, dismisses) {
  UNWIND read AS entity
  CALL (entity, documents) {
    WITH entity, $at_ingested AS known WHERE entity.type IN $types OR entity.type IN [each IN documents | each[0]]
    MATCH ()-[seen:OBSERVED]->(observation)
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = entity.id AND seen.at IS NOT NULL AND <observation._learned>
      AND seen.kind IN <fact._value_kinds>
    // Most observations have the same few lists of fields: which of these identify is asked once for each list.
    WITH observation.fields AS fields, collect([observation, seen.recorded_at,
      [moment IN coalesce(<observation._turned>, []) WHERE moment <= known]]) AS alike
    WITH fields, alike, [i IN range(0, size(fields) - 1) WHERE fields[i] IN $fields OR
      toLower(replace(replace(replace(fields[i], ' ', ''), '-', ''), '_', '')) IN $fields] AS places
    UNWIND alike AS each
    WITH fields, places, each[0] AS observation, each[1] AS at, each[2] AS toggles
    WITH toggles, [i IN places | [fields[i],
        head([placed IN [[observation.id, observation.values[i]]] | <entity._placed>])]] AS pairs,
      CASE WHEN observation.identity_basis IN ['content', 'canonical_name', 'name', 'full_name', 'title', 'email', 'url', 'phone']
        THEN observation.identity_basis END AS basis, min(at) AS recorded_at
    RETURN collect([recorded_at, toggles, [pair IN pairs | pair[0]], [pair IN pairs | pair[1]], basis]) AS statements
  }
  CALL (entity) {
    WITH entity, CASE WHEN EXISTS { (entity)-[:MERGED]-() } THEN entity.id END AS home, $at_ingested AS known
    MATCH ()-[seen:OBSERVED]->(observation)
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = home AND seen.at IS NOT NULL AND <observation._learned>
      AND seen.kind IN <fact._merge_kinds>
    RETURN collect([seen.observation_id, entity.id, seen.at, seen.recorded_at, seen.kind, observation.fields,
      observation.values, [moment IN coalesce(<observation._turned>, []) WHERE moment <= known]]) AS facts
  }
  CALL (entity, dismisses) {
    WITH entity, dismisses WHERE dismisses
    CALL (entity) {
      MATCH (dismissal:Dismissal)
      USING INDEX SEEK dismissal:Dismissal(owner, entity_a, entity_b)
      WHERE dismissal.owner = $owner AND dismissal.entity_a = entity.id AND dismissal.entity_b IS NOT NULL
      RETURN dismissal
      UNION
      MATCH (dismissal:Dismissal)
      USING INDEX SEEK dismissal:Dismissal(owner, entity_b, entity_a)
      WHERE dismissal.owner = $owner AND dismissal.entity_b = entity.id AND dismissal.entity_a IS NOT NULL
      RETURN dismissal
    }
    MATCH (dismissal)-[:IN_TRANSACTION]->(seen:Transaction)
    WITH dismissal, seen, $at_ingested AS known WHERE <observation._learned>
    RETURN collect([dismissal.id, dismissal.kind, dismissal.entity_a, dismissal.entity_b, dismissal.recorded_at])
      AS dismissals
  }
  RETURN collect([entity.id, entity.type, statements, facts,
    COLLECT { MATCH (entity)-[:MERGED]-(other:Entity) RETURN DISTINCT other.id }, dismissals,
    COLLECT { MATCH (entity)<-[:IDENTIFIES|identified]-(identifier:Identifier) WHERE identifier.kind IN $kinds
      RETURN identifier.value }]) AS entities
}
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IN $joining
  RETURN count(counted) > 0 AS joins
}
RETURN entities, found AS bearers, asked AS reached, documents, joins
