// dump.present: which records of a dump are in the database already, with their content; for those of another owner,
// only that they exist.
//
// params  transactions: LIST<STRING>, keys: LIST<STRING>, observations: LIST<STRING>, schemas: LIST<STRING>,
//         entities: LIST<STRING>, relationships: LIST<STRING>
// returns transactions: LIST<LIST>, keys: LIST<LIST>, observations: LIST<LIST>, schemas: LIST<LIST>,
//         entities: LIST<STRING>, relationships: LIST<STRING>, foreign: LIST<STRING>
// mode    read
// index   transaction_id, transaction_key, observation_id, schema_id, entity_id, relationship_key
// cost    light
// `entities` and `relationships` are those of the given ids that exist. `foreign` are ids that belong to another
// owner.
CALL () {
  UNWIND $transactions AS id
  MATCH (one:Transaction {id: id})
  RETURN [node IN collect(one) WHERE node.owner = $owner | [node.id, node.recorded_at, node.operation, node.client,
    head(COLLECT { MATCH (node)-[:BY_AGENT]->(agent:Agent) RETURN agent.thumbprint }),
    node.idempotency_key, node.request_hash, node.answer]] AS transactions,
    collect(CASE WHEN one.owner <> $owner THEN one.id END) AS foreign_transactions
}
CALL () {
  UNWIND $keys AS key
  MATCH (one:Transaction {owner: $owner, idempotency_key: key})
  RETURN collect([key, one.id]) AS keys
}
CALL () {
  UNWIND $observations AS id
  MATCH (one:Observation {id: id})
  RETURN [observation IN collect(one) WHERE observation.owner = $owner | <dump._observation>] AS observations,
    collect(CASE WHEN one.owner <> $owner THEN one.id END) AS foreign_observations
}
CALL () {
  UNWIND $schemas AS id
  MATCH (one:Schema {id: id})
  WHERE one.owner = $owner
  RETURN collect([id, one.document, one.change, one.recorded_at]) AS schemas
}
CALL () {
  UNWIND $entities AS id
  MATCH (one:Entity {id: id})
  RETURN collect(CASE WHEN one.owner = $owner THEN id END) AS entities,
    collect(CASE WHEN one.owner <> $owner THEN id END) AS foreign_entities
}
CALL () {
  UNWIND $relationships AS key
  MATCH (one:Relationship {key: key})
  RETURN collect(CASE WHEN one.owner = $owner THEN key END) AS relationships,
    collect(CASE WHEN one.owner <> $owner THEN key END) AS foreign_relationships
}
RETURN transactions, keys, observations, schemas, entities, relationships,
  foreign_transactions + foreign_observations + foreign_entities + foreign_relationships AS foreign
