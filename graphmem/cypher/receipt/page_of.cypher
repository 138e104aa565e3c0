// receipt.page_of: one page of an owner's receipts by what is behind them, newest first, with the total.
//
// params  subjects: LIST<STRING>, asker: STRING, writers: LIST<STRING>, since: INTEGER, at: INTEGER, after: STRING,
//         offset: INTEGER, limit: INTEGER
// returns receipts: LIST<LIST>, total: INTEGER
// mode    read
// index   source_id, interpretation_id, transaction_id, agent_by_owner (owner), split_id, observation_id, entity_id,
//         relationship_key
// cost    heavy
// A receipt is in it if any of `subjects` is behind it.
CALL () {
  UNWIND $subjects AS subject_id
  <receipt._of>
  WITH DISTINCT receipt
  WHERE <receipt._fits>
  RETURN collect(receipt) AS matching
}
CALL (matching) {
  UNWIND matching AS receipt
  WITH receipt WHERE receipt.at < $at OR receipt.at = $at AND receipt.id < $after
  WITH receipt ORDER BY receipt.at DESC, receipt.id DESC SKIP $offset LIMIT $limit
  RETURN collect(<receipt._row>) AS receipts
}
RETURN receipts, size(matching) AS total
