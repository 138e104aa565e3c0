// copy.expectations: those of some entities of which a transaction from a time on expected a version, each with the transactions
// that recorded what counts of it, in their order.
//
// params  entity_ids: LIST<STRING>, since: INTEGER
// returns written: LIST<LIST>
// mode    read
// index   history_home
// cost    heavy
UNWIND $entity_ids AS id
MATCH (history:History {home: id})
WHERE EXISTS {
  MATCH (history)-[seen:OBSERVED]->(:Observation)-[:IN_TRANSACTION]->(transaction:Transaction)
  WHERE seen.recorded_at >= $since AND transaction.owner = $owner AND transaction.expected IS NOT NULL
}
RETURN collect([id, COLLECT {
    MATCH (history)-[seen:OBSERVED]->(observation:Observation)-[:IN_TRANSACTION]->(transaction:Transaction)
    WHERE transaction.owner = $owner AND observation.entity_id = id AND seen.excluded IS NULL
      AND NOT EXISTS { (observation)-[:split_by]->(:Split) }
    WITH DISTINCT transaction ORDER BY transaction.recorded_at, transaction.id
    RETURN [transaction.recorded_at, transaction.id, transaction.expected]
  }]) AS written
