// receipt.page: one page of an owner's receipts, newest first, with the total on request.
//
// params  asker: STRING, writers: LIST<STRING>, since: INTEGER, at: INTEGER, after: STRING, offset: INTEGER, limit: INTEGER,
//         counted: BOOLEAN
// returns receipts: LIST<LIST>, total: INTEGER
// mode    read
// index   receipt_by_time (owner, at, id), read backwards
// cost    heavy
// The page begins after the receipt `after` of the time `at`. An `asker` that is null stands for all who asked.
CALL () {
  MATCH (receipt:Receipt)
  USING INDEX SEEK receipt:Receipt(owner, at, id)
  WHERE receipt.owner = $owner AND receipt.at <= $at AND receipt.id IS NOT NULL
    AND (receipt.at < $at OR receipt.id < $after) AND <receipt._fits>
  WITH receipt ORDER BY receipt.owner DESC, receipt.at DESC, receipt.id DESC SKIP $offset LIMIT $limit
  RETURN collect(<receipt._row>) AS receipts
}
CALL () {
  WITH $counted AS counted WHERE counted
  MATCH (receipt:Receipt)
  USING INDEX SEEK receipt:Receipt(owner, at, id)
  WHERE receipt.owner = $owner AND receipt.at IS NOT NULL AND receipt.id IS NOT NULL AND <receipt._fits>
  RETURN count(receipt) AS total
}
RETURN receipts, total
