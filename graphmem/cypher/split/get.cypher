// split.get: one split, with the transaction that made it and the times at which it was undone and made again; no row if
// it is not the owner's. `is_all` says whether the transaction and the split are all that is stored of the target.
//
// params  split_id: STRING
// returns source: STRING, target: STRING, subjects: LIST<STRING>, transaction_id: STRING, toggles: LIST<INTEGER>,
//         is_all: BOOLEAN
// mode    read
// index   split_id, history_home, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id)
// cost    light
MATCH (split:Split {id: $split_id})-[:IN_TRANSACTION]->(transaction:Transaction)
WHERE split.owner = $owner
RETURN split.source AS source, split.target AS target, split.subjects AS subjects, transaction.id AS transaction_id,
  coalesce(split.excluded, []) AS toggles,
  EXISTS {
    MATCH (history:History {home: split.target})-[:OBSERVED]->(:Observation)-[:IN_TRANSACTION]->(transaction)
  } AND NOT EXISTS {
    MATCH (history:History {home: split.target})-[:OBSERVED]->(observation:Observation)
    WHERE NOT EXISTS { (observation)-[:IN_TRANSACTION]->(transaction) }
      AND NOT EXISTS { (observation)-[:split_by]->(split) }
  } AND NOT EXISTS {
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.source = split.target
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
      AND relationship.live AND NOT relationship.key IN split.subjects
  } AND NOT EXISTS {
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.target = split.target
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
      AND relationship.live AND NOT relationship.key IN split.subjects
  } AS is_all
