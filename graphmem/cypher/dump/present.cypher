// dump.present: the records of a dump that the database holds already, with their content; of a record of another
// owner, only that it exists.
//
// params  transactions: LIST<STRING>, keys: LIST<STRING>, observations: LIST<STRING>, schemas: LIST<STRING>,
//         entities: LIST<STRING>, relationships: LIST<STRING>, repeats: LIST<LIST>
// returns transactions: LIST<LIST>, keys: LIST<LIST>, observations: LIST<LIST>, schemas: LIST<LIST>,
//         entities: LIST<STRING>, foreign: LIST<STRING>, repeats: LIST<LIST>
// mode    read
// index   transaction_id, transaction_key, observation_id, schema_id, entity_id, relationship_key
// cost    light
// sealing keys: equal key
// `entities` are those of the ids that the owner has. `foreign` are ids that belong to another owner. A row of `repeats`
// is [transaction, observation]: those that the transaction recorded, first or again.
CALL () {
  UNWIND $transactions AS id
  MATCH (node:Transaction {id: id})
  RETURN [transaction IN collect(node) WHERE transaction.owner = $owner | <dump._transaction>] AS transactions,
    collect(CASE WHEN node.owner <> $owner THEN node.id END) AS foreign_transactions
}
CALL () {
  UNWIND $keys AS key
  MATCH (node:Transaction {owner: $owner, idempotency_key: key})
  RETURN collect([key, node.id, node.recorded_at]) AS keys
}
CALL () {
  UNWIND $observations AS id
  MATCH (node:Observation {id: id})
  RETURN [observation IN collect(node) WHERE observation.owner = $owner | <dump._observation>] AS observations,
    collect(CASE WHEN node.owner <> $owner THEN node.id END) AS foreign_observations
}
CALL () {
  UNWIND $schemas AS id
  MATCH (node:Schema {id: id})
  WHERE node.owner = $owner
  MATCH (node)-[:IN_TRANSACTION]->(transaction:Transaction)
  RETURN collect([id, node.document, node.change, node.recorded_at, transaction.id]) AS schemas
}
CALL () {
  UNWIND $entities AS id
  MATCH (node:Entity {id: id})
  RETURN collect(CASE WHEN node.owner = $owner THEN id END) AS entities,
    collect(CASE WHEN node.owner <> $owner THEN id END) AS foreign_entities
}
CALL () {
  UNWIND $relationships AS key
  MATCH (node:Relationship {key: key})
  WHERE node.owner <> $owner
  RETURN collect(key) AS foreign_relationships
}
CALL () {
  UNWIND $repeats AS pair
  MATCH (transaction:Transaction {id: pair[0]})
  MATCH (observation:Observation {id: pair[1]})
  WHERE transaction.owner = $owner AND EXISTS { (observation)-[:also_in|IN_TRANSACTION]->(transaction) }
  RETURN collect(pair) AS repeats
}
RETURN transactions, keys, observations, schemas, entities,
  foreign_transactions + foreign_observations + foreign_entities + foreign_relationships AS foreign,
  repeats
