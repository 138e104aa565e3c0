// write.look: what the waiting requests of a turn touch, and the owner's sequence and revision, in one round trip.
//
// params  keys: LIST<STRING>, transactions: LIST<STRING>, entities: LIST<STRING>, observations: LIST<STRING>,
//         relationships: LIST<LIST>, types: LIST<STRING>, names: LIST<LIST>, initials: LIST<STRING>,
//         sources: LIST<STRING>, file_keys: LIST<STRING>, interpretations: LIST<STRING>, moved: LIST<LIST>,
//         borne: LIST<LIST>, near: LIST<LIST>, near_limit: INTEGER, bearers_limit: INTEGER, subjects: LIST<STRING>,
//         writers: LIST<STRING>
// returns owner: LIST, transactions: LIST<LIST>, entities: LIST<LIST>, observations: LIST<LIST>,
//         relationships: LIST<LIST>, schemas: LIST<LIST>, aliases: LIST<LIST>, namesakes: LIST<LIST>,
//         bearers: LIST<LIST>, near: LIST<LIST>,
//         types_in_use: LIST<STRING>, sources: LIST<LIST>, file_keys: LIST<LIST>, interpretations: LIST<LIST>,
//         subjects: LIST<LIST>, writings: LIST<LIST>
// mode    read
// index   owner_id, transaction_key, transaction_id, entity_id, observation_id, relationship_key, schema_head,
//         source_id, stored_by_file_key (owner, file_key), interpretation_id, type_alias_name,
//         identifier_value (owner, kind, value), relationship_by_source and relationship_by_target (owner, end,
//         last_observation_at, id), writing_by_writer (owner, writer), agent_by_owner (owner), writing_id (owner, id), split_id
// cost    light
// forms   plain
// sealing borne: pairs, keys: equal key, names: pairs, near: pairs
// The form `plain` reads things that are not merged with others. A turn runs it first, because it is planned in a
// fraction of the time, and runs the whole query only if one of the things is merged, if the turn merges, or if it
// ends an interpretation.
// `keys` are idempotency keys. `transactions` are the ids of requests whose acknowledgement may have been lost.
// `types` may hold aliases: the column `aliases` gives the type of each. `entities` come with all entities that are
// merged with them. `relationships` are [key, type, source, target]; each comes with its survivor and with all
// members of that survivor. `moved` are pairs of an entity and the one that it is merged into, null where a merge
// ends: its relationships come as well, with those that will be merged with them.
// `borne` are [kind, id, identifying fields, whether the turn may create the entity] of entities that may be merged by
// rule. `bearers` are the entities that bear such an id, `bearers_limit` of each at most, in no order.
// `near` are [kind, beginning] of groups of names of persons. The column has the values of each group, null for more
// than `near_limit`. A `collect()` of the values would let the planner seek all values of the kind: while the
// index is empty, that seek seems as cheap as the one of the range.
// A row of `sources` is [id, the times at which the source was excluded and included again, its observations]. `names` are [kind, key, type] of entities that may be created. `namesakes` are the live entities of that type under
// each: the three observed last of 200 with that key, deleted ones among the 200. `types_in_use` are at most 200 types
// of the owner that begin with one of `initials`. The column `interpretations` has those that have ended. `subjects` are
// transactions, writings and splits that are withdrawn or reinstated; a writing need not be there. `writings` are those
// of the keys of writers that were withdrawn: their id, and when.
//
// The sequence is read before everything else: if a commit comes after it, the write sees another sequence and writes
// nothing. Read later, it could be that of a commit that the entities do not show. The LIMIT keeps the planner from
// moving it. `replan=skip` is explained in write.turn.
CYPHER replan=skip
OPTIONAL MATCH (stored_owner:Owner {id: $owner})
WITH CASE WHEN stored_owner IS NULL THEN null
  ELSE [stored_owner.sequence, stored_owner.revision, stored_owner.recorded_at, stored_owner.state_hash,
    stored_owner.reads_from] END AS owner
  LIMIT 1
CALL () {
  UNWIND $entities AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  CALL (entity) {
    RETURN entity AS member
    // only whole
    UNION
    WITH entity WHERE entity.merged_into IS NOT NULL OR EXISTS { (entity)<-[:MERGED_INTO]-() }
    MATCH (entity)-[:MERGED_INTO*0..]->(root:Entity)
    WHERE coalesce(root.merged_into, '') = ''
    MATCH (root)<-[:MERGED_INTO*0..]-(member:Entity)
    RETURN member
    // end
  }
  RETURN collect(DISTINCT member) AS members
}
CALL () {
  CALL () {
    UNWIND $relationships AS reference
    RETURN reference[0] AS key
    // only whole
    UNION
    UNWIND $relationships AS reference
    MATCH (source:Entity {id: reference[2]})
    MATCH (target:Entity {id: reference[3]})
    WITH reference, source, target WHERE source.merged_into IS NOT NULL OR target.merged_into IS NOT NULL
    MATCH (source)-[:MERGED_INTO*0..]->(from:Entity)
    WHERE coalesce(from.merged_into, '') = ''
    MATCH (target)-[:MERGED_INTO*0..]->(to:Entity)
    WHERE coalesce(to.merged_into, '') = ''
    RETURN reference[1] + ':' + from.id + ':' + to.id AS key
    UNION
    UNWIND $moved AS move
    WITH move[0] AS id, move[1] AS onto
    MATCH (moved:Entity {id: id})<-[:MERGED_INTO*0..]-(part:Entity)
    WHERE part.owner = $owner
    CALL (part) {
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.source = part.id
        AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
      RETURN relationship, 1 AS end
      UNION
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.target = part.id
        AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
      RETURN relationship, 2 AS end
    }
    OPTIONAL MATCH (relationship)-[:SHOWN_AS]->(above:Relationship)
    WITH id, onto, end, relationship, coalesce(above, relationship) AS survivor,
      split(CASE coalesce(relationship.shown_as, '') WHEN '' THEN relationship.key ELSE relationship.shown_as END,
        ':') AS placed
    UNWIND [relationship.key, survivor.key, placed[0] + ':'
      + CASE end WHEN 1 THEN coalesce(onto, id) ELSE placed[1] END + ':'
      + CASE end WHEN 2 THEN coalesce(onto, id) ELSE placed[2] END,
      placed[0] + ':'
      + CASE end WHEN 1 THEN id ELSE placed[1] END + ':'
      + CASE end WHEN 2 THEN id ELSE placed[2] END] AS key
    RETURN key
    // end
  }
  MATCH (relationship:Relationship {key: key})
  WHERE relationship.owner = $owner
  CALL (relationship) {
    RETURN relationship AS member
    // only whole
    UNION
    MATCH (relationship)-[:SHOWN_AS]->(member:Relationship)
    RETURN member
    UNION
    MATCH (relationship)-[:SHOWN_AS]->(:Relationship)<-[:SHOWN_AS]-(member:Relationship)
    RETURN member
    UNION
    MATCH (relationship)<-[:SHOWN_AS]-(member:Relationship)
    RETURN member
    // end
  }
  RETURN collect(DISTINCT member) AS related
}
RETURN owner,
  COLLECT {
    UNWIND $keys AS key
    MATCH (transaction:Transaction {owner: $owner, idempotency_key: key})
    RETURN <write._transaction>
  } + COLLECT {
    UNWIND $transactions AS id
    MATCH (transaction:Transaction {id: id})
    WHERE transaction.owner = $owner
    RETURN <write._transaction>
  } AS transactions,
  [thing IN members | [thing.id, thing.type, <write._thing>, thing.merged_into, thing.projection]] AS entities,
  COLLECT {
    UNWIND $observations AS id
    MATCH (observation:Observation {id: id})
    WHERE observation.owner = $owner
    RETURN [observation.id, size(coalesce(observation.excluded, [])) % 2 = 1]
  } AS observations,
  [thing IN related | [thing.key, thing.type, <write._thing>, thing.shown_as, null]] AS relationships,
  COLLECT {
    UNWIND $types + [member IN members | member.type]
      + [member IN members WHERE member.type = 'contact' | 'person'] AS type
    WITH DISTINCT type
    MATCH (schema:Schema)
    USING INDEX SEEK schema:Schema(owner, head)
    WHERE schema.owner = $owner AND schema.head = type
    RETURN [schema.head, schema.fields, schema.seen, schema.active_version, schema.document, schema.projection]
  } AS schemas,
  COLLECT {
    UNWIND $types AS name
    MATCH (alias:TypeAlias {owner: $owner, name: name})
    RETURN [alias.name, alias.type]
  } AS aliases,
  COLLECT {
    UNWIND $names AS reference
    MATCH (identifier:Identifier {owner: $owner, kind: reference[0], value: reference[1]})
    CALL (reference, identifier) {
      MATCH (identifier)-[:IDENTIFIES]->(entity:Entity)
      WITH reference, entity LIMIT 200
      WHERE entity.listed = reference[2]
      RETURN entity ORDER BY entity.last_observation_at DESC, entity.id LIMIT 3
    }
    RETURN [reference[0], reference[1], reference[2], entity.id, CASE WHEN entity.size <= 200000 THEN
      head([lists IN [[entity.fields, entity.values]] |
        head([i IN range(0, size(lists[0]) - 1) WHERE lists[0][i] = 'date_start' |
          head([placed IN [[entity.id, lists[1][i]]] | <entity._placed>])])]) END]
  } AS namesakes,
  COLLECT {
    UNWIND $borne AS reference
    WITH reference WHERE reference[3] OR EXISTS { (:Entity {id: reference[1]}) }
    MATCH (identifier:Identifier {owner: $owner, kind: reference[0], value: reference[1]})
    CALL (identifier) {
      MATCH (identifier)-[:IDENTIFIES]->(entity:Entity)
      RETURN entity LIMIT $bearers_limit
    }
    WITH reference, entity, entity.fields AS fields, entity.values AS texts
    WITH reference, entity, fields, texts,
      [i IN range(0, size(fields) - 1) WHERE (fields[i] IN reference[2] OR
      toLower(replace(replace(replace(fields[i], ' ', ''), '-', ''), '_', '')) IN reference[2]) | i] AS places
    RETURN [entity.id, reference[1], entity.merged_into IS NULL AND entity.own IS NULL, entity.evidence,
      [i IN places | fields[i]], [i IN places | texts[i]],
      coalesce(entity.separated, []) + coalesce(entity.distinct_from, [])]
  } AS bearers,
  COLLECT {
    UNWIND $near AS reference
    WITH reference, COLLECT {
      MATCH (identifier:Identifier)
      USING INDEX SEEK identifier:Identifier(owner, kind, value)
      WHERE identifier.owner = $owner AND identifier.kind = reference[0] AND identifier.value STARTS WITH reference[1]
        AND EXISTS { (identifier)-[:IDENTIFIES]->() }
      RETURN identifier.value LIMIT $near_limit + 1
    } AS values
    RETURN [reference[0], reference[1], CASE WHEN size(values) <= $near_limit THEN values END]
  } AS near,
  COLLECT {
    UNWIND $initials AS initial
    MATCH (schema:Schema)
    USING INDEX SEEK schema:Schema(owner, head)
    WHERE schema.owner = $owner AND schema.head STARTS WITH initial
    RETURN schema.head LIMIT 200
  } AS types_in_use,
  COLLECT {
    UNWIND $sources AS id
    MATCH (source:Source {id: id})
    WHERE source.owner = $owner
    RETURN [source.id, source.excluded, COUNT { (source)<-[:FROM_SOURCE]-() }]
  } AS sources,
  COLLECT {
    UNWIND $file_keys AS key
    MATCH ()-[stored:stored]->(source:Source)
    USING INDEX SEEK stored:stored(owner, file_key)
    WHERE stored.owner = $owner AND stored.file_key = key
    RETURN [key, source.id]
  } AS file_keys,
  COLLECT {
    UNWIND $writers AS writer
    MATCH (writing:Writing)
    USING INDEX SEEK writing:Writing(owner, writer)
    WHERE writing.owner = $owner AND writing.writer = writer AND writing.excluded IS NOT NULL
    RETURN [writing.id, writing.excluded]
  } AS writings,
  // only plain
  [] AS subjects, [] AS interpretations
  // end
  // only whole
  COLLECT {
    UNWIND $subjects AS subject_id
    CALL (subject_id) {
      OPTIONAL MATCH (transaction:Transaction {id: subject_id})
      OPTIONAL MATCH (writing:Writing {owner: $owner, id: subject_id})
      OPTIONAL MATCH (split:Split {id: subject_id})
      WITH subject_id, coalesce(transaction, writing, split) AS held
      WITH held, subject_id WHERE held.owner = $owner OR held IS NULL AND EXISTS {
        MATCH (agent:Agent)
        USING INDEX SEEK agent:Agent(owner)
        WHERE agent.owner = $owner AND subject_id STARTS WITH 'wrt_' AND substring(subject_id, 44) IN agent.writers
      }
      RETURN held
    }
    CALL (subject_id) {
      <exclusion._observations>
      RETURN count(DISTINCT observation) AS observations
    }
    RETURN [subject_id, held.excluded, observations]
  } AS subjects,
  COLLECT {
    UNWIND $interpretations AS id
    MATCH (interpretation:Interpretation {id: id})
    WHERE interpretation.owner = $owner AND interpretation.recorded_at IS NOT NULL
    RETURN [interpretation.id, interpretation.excluded, COUNT { (interpretation)<-[:BY_INTERPRETATION]-() }]
  } AS interpretations
  // end
