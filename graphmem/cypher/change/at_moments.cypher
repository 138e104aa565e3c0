// change.at_moments: the transactions that were recorded at some moments, with what each recorded, in the given order.
//
// params  moments: LIST<INTEGER>
// returns transactions: LIST<LIST>, cut: BOOLEAN
// mode    read
// index   transaction_by_recorded (owner, recorded_at, id)
// cost    light
CALL () {
  UNWIND $moments AS moment
  MATCH (transaction:Transaction)
  USING INDEX SEEK transaction:Transaction(owner, recorded_at, id)
  WHERE transaction.owner = $owner AND transaction.recorded_at = moment AND transaction.id IS NOT NULL
  RETURN collect(transaction) AS stretch
}
<change._stretch>
