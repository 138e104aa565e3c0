// copy.page: what an owner's database has taken after a place in its order, but for what came by one copy.
//
// params  after: INTEGER, until: INTEGER, without: STRING, limit: INTEGER
// returns transactions: LIST<LIST>, schemas: LIST<LIST>, lost: LIST<LIST>, early: LIST<LIST>, last: INTEGER
// mode    read
// index   transaction_sequence (owner, sequence), lost_fact_by_transaction (owner, transaction)
// cost    heavy
// sealing without: clear
// `last` is the place after what the page has. A page looks at 5,000 transactions at most, and ends early if its values are
// large. `lost` are facts of the transactions that contradict others. `early` are observations of which a transaction that came
// later is the first one by now: what comes after may need them.
CALL () {
  MATCH (transaction:Transaction)
  USING INDEX SEEK transaction:Transaction(owner, sequence)
  WHERE transaction.owner = $owner AND transaction.sequence > $after AND transaction.sequence <= $until
    AND transaction.sequence <= $after + 5000 AND (transaction.copy IS NULL OR transaction.copy <> $without)
  WITH transaction ORDER BY transaction.owner, transaction.sequence LIMIT $limit
  RETURN collect(transaction) AS stretch
}
<dump._stretch>
RETURN transactions,
  COLLECT {
    UNWIND stretch[..fitting] AS transaction
    MATCH (transaction)<-[:IN_TRANSACTION]-(schema:Schema)
    RETURN [schema.entity_type, schema.version, schema.document, schema.change, schema.recorded_at, transaction.id]
  } AS schemas,
  COLLECT {
    UNWIND stretch[..fitting] AS transaction
    MATCH (lost:LostFact)
    USING INDEX SEEK lost:LostFact(owner, transaction)
    WHERE lost.owner = $owner AND lost.transaction = transaction.id AND lost.kind IN ['schema', 'repeated_schema']
    RETURN [lost.id, lost.record]
  } AS lost,
  COLLECT {
    UNWIND stretch[..fitting] AS transaction
    MATCH (transaction)<-[:also_in]-(observation:Observation)-[:IN_TRANSACTION]->(first:Transaction)
    WHERE first.sequence > transaction.sequence
    RETURN [transaction.id, <dump._observation>]
  } AS early,
  CASE WHEN fitting < size(stretch) OR size(stretch) = $limit THEN stretch[fitting - 1].sequence
    WHEN $until < $after + 5000 THEN $until ELSE $after + 5000 END AS last
