// receipt.erase: erase some of an owner's receipts.
//
// params  limit: INTEGER
// returns erased: INTEGER
// mode    write
// index   receipt_by_time (owner, at, id)
// cost    light
MATCH (receipt:Receipt)
USING INDEX SEEK receipt:Receipt(owner, at, id)
WHERE receipt.owner = $owner AND receipt.at IS NOT NULL AND receipt.id IS NOT NULL
WITH receipt LIMIT $limit
DETACH DELETE receipt
RETURN count(*) AS erased
