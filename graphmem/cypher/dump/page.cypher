// dump.page: a stretch of an owner's transactions with their observations, in the order in which they were recorded.
//
// params  since: INTEGER, after: STRING, sequence: INTEGER, limit: INTEGER
// returns transactions: LIST<LIST>, more: BOOLEAN
// mode    read
// index   transaction_by_recorded (owner, recorded_at, id)
// cost    heavy
// The stretch begins after the transaction `after` of the time `since`. It ends early if its values are large.
CALL () {
  MATCH (transaction:Transaction)
  USING INDEX SEEK transaction:Transaction(owner, recorded_at, id)
  WHERE transaction.owner = $owner AND transaction.recorded_at >= $since AND transaction.id IS NOT NULL
    AND CASE transaction.recorded_at WHEN $since THEN transaction.id > $after ELSE true END
    AND transaction.sequence <= $sequence
  WITH transaction ORDER BY transaction.owner, transaction.recorded_at, transaction.id LIMIT $limit
  RETURN collect(transaction) AS stretch
}
<dump._stretch>
RETURN transactions, size(stretch) = $limit OR fitting < size(stretch) AS more
