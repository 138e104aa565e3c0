// change.since: a stretch of an owner's transactions with what each recorded, in the owner's order.
//
// params  after: INTEGER, until: INTEGER, limit: INTEGER
// returns transactions: LIST<LIST>, cut: BOOLEAN
// mode    read
// index   transaction_sequence (owner, sequence)
// cost    light
// The stretch begins after the sequence `after` and ends with `until`. Of transactions that a restore wrote one after
// another the first alone is in it: graphmem.changes tells a restore as one change.
CALL () {
  MATCH (transaction:Transaction)
  USING INDEX SEEK transaction:Transaction(owner, sequence)
  WHERE transaction.owner = $owner AND transaction.sequence > $after AND transaction.sequence <= $until
    AND (transaction.restored IS NULL OR NOT EXISTS {
      MATCH (before:Transaction {owner: $owner, sequence: transaction.sequence - 1})
      WHERE before.restored
    })
  WITH transaction ORDER BY transaction.owner, transaction.sequence LIMIT $limit
  RETURN collect(transaction) AS stretch
}
<change._stretch>
