// owner.erase_transactions: erase some of an owner's transactions, oldest first, with their observations, and agents
// that have no transaction left.
//
// params  limit: INTEGER
// returns transactions: INTEGER, observations: INTEGER
// mode    write
// index   transaction_sequence (owner, sequence)
// cost    light
// Nothing is left if both numbers are 0. `limit` bounds the transactions, and the weight of the observations, that are
// erased. A transaction stays while it has observations: they are found by it.
CALL () {
  MATCH (transaction:Transaction)
  USING INDEX SEEK transaction:Transaction(owner, sequence)
  WHERE transaction.owner = $owner AND transaction.sequence IS NOT NULL
  WITH transaction ORDER BY transaction.owner, transaction.sequence LIMIT $limit
  RETURN collect(transaction) AS stretch
}
CALL (stretch) {
  UNWIND stretch AS transaction
  MATCH (transaction)<-[:IN_TRANSACTION]-(observation:Observation)
  WITH observation LIMIT $limit
  WITH collect(observation) AS found, collect(1 + observation.size / 4000) AS weights
  UNWIND found[..<owner._batch>] AS observation
  DETACH DELETE observation
  RETURN count(*) AS observations
}
CALL (stretch) {
  UNWIND stretch AS transaction
  WITH transaction WHERE NOT EXISTS { (transaction)<-[:IN_TRANSACTION]-(:Observation) }
  OPTIONAL MATCH (transaction)-[:BY_AGENT]->(agent:Agent)
  WITH transaction, agent
  DETACH DELETE transaction
  WITH count(*) AS transactions, collect(DISTINCT agent) AS agents
  FOREACH (idle IN [agent IN agents WHERE NOT EXISTS { (agent)<-[:BY_AGENT]-() }] | DELETE idle)
  RETURN transactions
}
RETURN transactions, observations
