// write.look: what the waiting requests touch, and the owner's place in its order, in one round trip.
//
// params  keys: LIST<STRING>, transactions: LIST<STRING>, entities: LIST<STRING>, observations: LIST<STRING>,
//         relationships: LIST<STRING>, types: LIST<STRING>
// returns owner: LIST, transactions: LIST<LIST>, entities: LIST<LIST>, observations: LIST<LIST>,
//         relationships: LIST<LIST>, schemas: LIST<LIST>
// mode    read
// index   owner_id, transaction_key, transaction_id, entity_id, observation_id, relationship_key, schema_by_type
// cost    light
// Keys are those of idempotency. Transactions are the ids of requests whose acknowledgement may be lost.
// The sequence is read before everything else: what is committed after it makes the write find another one. Read
// later, it could be that of a commit whose entities were read before it. The limit keeps the planner from moving it.
OPTIONAL MATCH (found:Owner {id: $owner})
WITH CASE WHEN found IS NULL THEN null ELSE [found.sequence, found.recorded_at] END AS owner LIMIT 1
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
  COLLECT {
    UNWIND $entities AS id
    MATCH (entity:Entity {id: id})
    WHERE entity.owner = $owner
    RETURN [entity.id, entity.type, entity.version, entity.observation_count, entity.created_at,
      entity.last_observation_at, entity.fields, entity.values, entity.winners, entity.ranks,
      entity.turn, entity.check]
  } AS entities,
  COLLECT {
    UNWIND $observations AS id
    MATCH (observation:Observation {id: id})
    WHERE observation.owner = $owner
    RETURN [observation.id, observation.recorded_at]
  } AS observations,
  COLLECT {
    UNWIND $relationships AS key
    MATCH (relationship:Relationship {key: key})
    WHERE relationship.owner = $owner
    RETURN [relationship.key, relationship.version, relationship.observation_count,
      relationship.created_at, relationship.last_observation_at, relationship.fields, relationship.values,
      relationship.winners, relationship.ranks, relationship.turn,
      relationship.check]
  } AS relationships,
  COLLECT {
    UNWIND $types + COLLECT {
      UNWIND $entities AS id
      MATCH (entity:Entity {id: id})
      WHERE entity.owner = $owner
      RETURN DISTINCT entity.type
    } AS type
    WITH DISTINCT type
    MATCH (schema:Schema)
    WHERE schema.owner = $owner AND schema.entity_type = type
    RETURN [schema.entity_type, schema.fields, schema.seen]
  } AS schemas
