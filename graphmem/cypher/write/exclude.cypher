// write.exclude: write exclusions and splits with their transactions, and note on the observations of their subjects when
// they count, and for what, if the owner still has the revision that the turn read; else no row, and nothing is written.
//
// params  sequence: INTEGER, revision: INTEGER, recorded_at: INTEGER, transactions: LIST<MAP>,
//         exclusions: LIST<MAP>, splits: LIST<MAP>, subjects: LIST<STRING>, limit: INTEGER
// returns sequence: INTEGER
// mode    write
// index   owner_id, transaction_id, agent_id, agent_by_owner (owner), writing_id (owner, id),
//         writing_by_writer (owner, writer), source_id, interpretation_id, split_id, entity_id,
//         relationship_key, observation_id, history_home, exclusion_by_subject (owner, subject, recorded_at, id),
//         passages_source
// cost    light
// `excluded` of a subject is a list of times: when it was excluded, included again, and so on. The function `toggles`
// of graphmem.model.membership says what an observation makes of them. Of many observations the first `limit`
// are noted, and `exclusion.stamp` goes on: one transaction has too little memory for all. A split adds an
// edge from the history of each subject to the observations that count for it; the names of its own edges are in lower case, as in
// write.turn. Copies in memory follow the passages of the sources (passages/set.cypher).
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner WHERE owner.revision = $revision
SET owner.sequence = $sequence + size($transactions), owner.revision = $revision + 1,
  owner.recorded_at = $recorded_at, owner.refolding = true
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
  UNWIND $splits AS row
  MATCH (transaction:Transaction {id: row.transaction_id})
  CREATE (split:Split)
  SET split = row.properties
  CREATE (split)-[:IN_TRANSACTION]->(transaction)
  WITH split
  UNWIND range(0, size(split.observations) - 1) AS i
  MATCH (observation:Observation {id: split.observations[i]})
  WHERE observation.owner = $owner
  WITH split, observation, split.subjects[i] AS subject_id
  CREATE (observation)-[:split_by {subject: subject_id}]->(split)
  WITH split, observation, subject_id
  CALL (subject_id) {
    MATCH (entity:Entity {id: subject_id})
    MERGE (entity)-[:HAS_HISTORY]->(history:History {home: subject_id})
    RETURN history
    UNION ALL
    MATCH (relationship:Relationship {key: subject_id})
    MERGE (relationship)-[:HAS_HISTORY]->(history:History {home: subject_id})
    RETURN history
  }
  MERGE (history)-[seen:OBSERVED {home: subject_id, observation_id: observation.id}]->(observation)
  ON CREATE SET seen.at = observation.observed_at, seen.kind = observation.kind, seen.recorded_at = split.recorded_at
}
CALL () {
  UNWIND $subjects AS subject_id
  <exclusion._writing>
}
CALL () {
  UNWIND $subjects AS subject_id
  <exclusion._set>
}
CALL (owner) {
  UNWIND $subjects AS subject_id
  MATCH (passages:Passages {source_id: subject_id})
  WHERE passages.owner = $owner
  WITH owner, collect(passages) AS changed WHERE size(changed) > 0
  SET owner.passages_changed = [owner.passages_changed[0] + 1, size(changed)]
  WITH owner, changed
  UNWIND changed AS passages
  SET passages.changed = owner.passages_changed[0]
}
WITH owner, coalesce(owner.stamping, []) + $subjects AS subject_ids, '' AS after
<exclusion._stamp>
RETURN owner.sequence AS sequence
