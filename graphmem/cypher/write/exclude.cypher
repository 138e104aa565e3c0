// write.exclude: write exclusions with their transactions, and note on the observations of their subjects when they
// count, if the owner still has the revision that the turn read; else no row, and nothing is written.
//
// params  sequence: INTEGER, revision: INTEGER, recorded_at: INTEGER, transactions: LIST<MAP>,
//         exclusions: LIST<MAP>, subjects: LIST<STRING>, limit: INTEGER
// returns sequence: INTEGER
// mode    write
// index   owner_id, transaction_id, agent_id, source_id, interpretation_id, entity_id, relationship_key,
//         exclusion_by_subject (owner, subject, recorded_at, id)
// cost    light
// `excluded` of a subject is a list of times: when it was excluded, included again, and so on. The function `toggles`
// of graphmem.model.membership says what an observation makes of them. Of many observations the first `limit`
// are noted, and `exclusion.stamp` goes on: one transaction has too little memory for all. While another exclusion is
// folded in, it has to be worked out again when merges by rule held (audit/undated.cypher).
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner WHERE owner.revision = $revision
SET owner.sequence = $sequence + size($transactions), owner.revision = $revision + 1,
  owner.recorded_at = $recorded_at,
  owner.undated = CASE WHEN owner.refolding THEN $revision + 1 ELSE owner.undated END, owner.refolding = true
WITH owner
CALL () {
  <write._transactions>
}
CALL () {
  UNWIND $exclusions AS row
  MATCH (transaction:Transaction {id: row.transaction_id})
  CREATE (exclusion:Exclusion)
  SET exclusion = row.properties
  CREATE (exclusion)-[:IN_TRANSACTION]->(transaction)
}
CALL () {
  UNWIND $subjects AS subject_id
  <exclusion._toggles>
  <exclusion._subject>
  SET subject.excluded = toggles
}
WITH owner, coalesce(owner.stamping, []) + $subjects AS subject_ids, '' AS after
<exclusion._stamp>
RETURN owner.sequence AS sequence
