// dump.set_lost: say of versions of schemas that do not count whether each repeats the one that counts, and which one that
// is; remove claims to other names of types that count now.
//
// params  rows: LIST<LIST>, ended: LIST<STRING>
// returns changed: INTEGER
// mode    write
// index   lost_fact_id
// cost    light
// sealing rows: clear
// A row of `rows` is [id, kind, id of the transaction of the version that counts].
CALL () {
  UNWIND $rows AS row
  MATCH (lost:LostFact {id: row[0]})
  WHERE lost.owner = $owner
  SET lost.kind = row[1], lost.winner = row[2]
}
CALL () {
  UNWIND $ended AS lost_id
  MATCH (lost:LostFact {id: lost_id})
  WHERE lost.owner = $owner
  DELETE lost
}
RETURN size($rows) + size($ended) AS changed
