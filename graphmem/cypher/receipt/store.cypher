// receipt.store: store receipts of an owner, with an edge to each observation and file behind them, unless the owner is not
// there or is being erased. One that is stored already is left as it is.
//
// params  receipts: LIST<MAP>
// returns stored: INTEGER
// mode    write
// index   owner_id, receipt_id, observation_id, source_id, transaction_by_recorded (owner, recorded_at, id), read
//         backwards, history_home
// cost    light
// `behind` has the keys of relationships that name no observation, because they have no metadata: behind these stand all
// observations that were recorded of them by then. `sequence` is that of the owner's last transaction by then.
CALL () {
  MATCH (owner:Owner {id: $owner})
  WHERE owner.erased_at IS NULL
  UNWIND $receipts AS row
  WITH row WHERE NOT EXISTS {
    MATCH (stored:Receipt {id: row.id})
  }
  CALL (row) {
    MATCH (transaction:Transaction)
    USING INDEX SEEK transaction:Transaction(owner, recorded_at, id)
    WHERE transaction.owner = $owner AND transaction.recorded_at <= row.at AND transaction.id IS NOT NULL
    WITH transaction ORDER BY transaction.owner DESC, transaction.recorded_at DESC, transaction.id DESC LIMIT 1
    RETURN max(transaction.sequence) AS sequence
  }
  CALL (row) {
    UNWIND row.behind AS key
    MATCH (history:History {home: key})-[:OBSERVED]->(observation:Observation)
    WHERE key CONTAINS ':' AND observation.owner = $owner AND observation.recorded_at <= row.at
    RETURN collect(DISTINCT observation.id) AS stating
  }
  CREATE (receipt:Receipt)
  SET receipt = row, receipt.owner = $owner, receipt.sequence = coalesce(sequence, 0),
    receipt.behind = [id IN row.behind WHERE NOT id CONTAINS ':'] + [id IN stating WHERE NOT id IN row.behind]
  WITH receipt
  CALL (receipt) {
    UNWIND receipt.behind AS id
    CALL (id) {
      MATCH (told:Observation {id: id})
      WHERE told.owner = $owner
      RETURN told
      UNION ALL
      MATCH (told:Source {id: id})
      WHERE told.owner = $owner
      RETURN told
    }
    CREATE (receipt)-[:told_of]->(told)
  }
  RETURN count(receipt) AS stored
}
RETURN stored
