// receipt.drop: drop some receipts of all owners that are from before a time, or the oldest of owners who have more bytes of
// them than a limit.
//
// params  before: INTEGER, bytes: INTEGER, limit: INTEGER
// returns dropped: INTEGER
// mode    write
// index   receipt_at, receipt_by_time (owner, at, id)
// cost    heavy
// tenancy global: the worker drops what is too old or too much for the receipts of any owner
// `limit` bounds how many are dropped at once for each reason, and for each owner.
CALL () {
  MATCH (receipt:Receipt)
  USING INDEX SEEK receipt:Receipt(at)
  WHERE receipt.at < $before
  WITH receipt LIMIT $limit
  DETACH DELETE receipt
  RETURN count(*) AS old
}
CALL () {
  MATCH (receipt:Receipt)
  USING INDEX SEEK receipt:Receipt(at)
  WHERE receipt.at >= $before
  WITH receipt.owner AS owner_id, sum(receipt.size) - $bytes AS excess
  WHERE excess > 0
  CALL (owner_id, excess) {
    MATCH (receipt:Receipt)
    USING INDEX SEEK receipt:Receipt(owner, at, id)
    WHERE receipt.owner = owner_id AND receipt.at >= $before AND receipt.id IS NOT NULL
    WITH excess, receipt ORDER BY receipt.owner, receipt.at, receipt.id LIMIT $limit
    WITH excess, collect(receipt) AS oldest, collect(receipt.size) AS sizes
    UNWIND range(0, size(oldest) - 1) AS i
    WITH oldest[i] AS receipt, excess, reduce(before = 0, each IN sizes[..i] | before + each) AS before
    WHERE before < excess
    DETACH DELETE receipt
    RETURN count(*) AS dropped
  }
  RETURN sum(dropped) AS crowded
}
RETURN old + crowded AS dropped
