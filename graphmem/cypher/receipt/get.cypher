// receipt.get: one receipt with what was told; no row if the owner has none of this id.
//
// params  id: STRING, asker: STRING
// returns receipt: LIST, told: LIST
// mode    read
// index   receipt_id
// cost    light
// An `asker` that is null stands for all who asked.
MATCH (receipt:Receipt {id: $id})
WHERE receipt.owner = $owner AND ($asker IS NULL OR receipt.asker = $asker)
RETURN <receipt._row> AS receipt, [receipt.id, receipt.told] AS told
