// change.newest: a stretch of an owner's transactions with what each recorded, the newest first.
//
// params  since: INTEGER, before: INTEGER, limit: INTEGER
// returns transactions: LIST<LIST>, cut: BOOLEAN
// mode    read
// index   transaction_by_recorded (owner, recorded_at, id)
// cost    light
// The stretch has what was recorded from `since` on, and before `before`. No two transactions of an owner share a
// recorded_at.
CALL () {
  MATCH (transaction:Transaction)
  USING INDEX SEEK transaction:Transaction(owner, recorded_at, id)
  WHERE transaction.owner = $owner AND transaction.recorded_at >= $since AND transaction.recorded_at < $before
    AND transaction.id IS NOT NULL
  WITH transaction ORDER BY transaction.owner DESC, transaction.recorded_at DESC, transaction.id DESC LIMIT $limit
  RETURN collect(transaction) AS stretch
}
<change._stretch>
