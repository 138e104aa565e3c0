// write.exclude: write exclusions with their transactions, and note on every observation of their subjects when it
// counts, if the owner still has the revision that the turn read; else no row, and nothing is written.
//
// params  sequence: INTEGER, revision: INTEGER, recorded_at: INTEGER, excluded_at: INTEGER, transactions: LIST<MAP>,
//         exclusions: LIST<MAP>, subjects: LIST<STRING>
// returns sequence: INTEGER
// mode    write
// index   owner_id, transaction_id, agent_id, source_id, interpretation_id, entity_id, relationship_key, exclusion_by_subject (owner,
//         subject, recorded_at, id)
// cost    light
// `excluded` is a list of times: of a subject, when it was excluded, included again, and so on; of an observation and
// its edge, when it stopped to count, counted again, and so on. The functions `subject_toggles` and `toggles` of
// graphmem.model.membership say the same. `refold` counts the changes since an entity or a relationship was folded. A
// survivor is folded again with its members. `projection` becomes one that no rules have, so that reads fold first:
// they find what was absent as well.
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
  UNWIND $subjects AS subject_id
  <exclusion._toggles>
  <exclusion._subject>
  SET subject.excluded = toggles
}
CALL () {
  UNWIND $subjects AS subject_id
  <exclusion._observations>
  WITH DISTINCT observation
  <exclusion._of_observation>
  WITH observation, excluded WHERE coalesce(observation.excluded, []) <> excluded
  MATCH (observation)<-[seen:OBSERVED]-(:History)
  WITH observation, seen, CASE WHEN size(excluded) > 0 THEN excluded END AS excluded
  SET observation.excluded = excluded, seen.excluded = excluded
  RETURN collect(DISTINCT observation.entity_id) AS entity_ids,
    collect(DISTINCT observation.relationship_key) AS relationship_keys
}
CALL (entity_ids) {
  UNWIND entity_ids AS id
  MATCH (entity:Entity {id: id})
  SET entity.excluded = true
  WITH entity
  MATCH (entity)-[:MERGED_INTO*0..]->(shown:Entity)
  WHERE shown = entity OR coalesce(shown.merged_into, '') = ''
  WITH DISTINCT shown
  SET shown.refold = coalesce(shown.refold, 0) + 1, shown.projection = 'withdrawn',
    shown.updated_at = CASE WHEN shown.updated_at > $excluded_at THEN shown.updated_at ELSE $excluded_at END
  WITH shown WHERE shown.merged_into = ''
  SET shown.merged_into = null, shown.live = true
}
CALL (relationship_keys) {
  UNWIND relationship_keys AS key
  MATCH (relationship:Relationship {key: key})
  SET relationship.excluded = true
  WITH relationship
  MATCH (relationship)-[:SHOWN_AS*0..1]->(shown:Relationship)
  WITH DISTINCT shown
  SET shown.refold = coalesce(shown.refold, 0) + 1
  WITH shown WHERE shown.shown_as = ''
  SET shown.shown_as = null, shown.live = true
}
RETURN owner.sequence AS sequence
