// split.get: one split, with the transaction that made it and the times at which it was undone and made again; no row if
// it is not the owner's.
//
// params  split_id: STRING
// returns source: STRING, target: STRING, subjects: LIST<STRING>, transaction_id: STRING, toggles: LIST<INTEGER>
// mode    read
// index   split_id
// cost    light
MATCH (split:Split {id: $split_id})-[:IN_TRANSACTION]->(transaction:Transaction)
WHERE split.owner = $owner
RETURN split.source AS source, split.target AS target, split.subjects AS subjects, transaction.id AS transaction_id,
  coalesce(split.excluded, []) AS toggles
