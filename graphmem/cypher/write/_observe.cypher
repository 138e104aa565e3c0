// Write the new observations of one row below the history of its subject. Takes `row` and `history`.
UNWIND row.observations AS observation_row
MATCH (transaction:Transaction {id: observation_row.transaction_id})
CREATE (observation:Observation)
SET observation = observation_row.properties
CREATE (history)-[:OBSERVED {home: row.subject_id, at: observation.observed_at,
  recorded_at: observation.recorded_at, learned_at: transaction.learned_at, observation_id: observation.id, kind: observation.kind,
  excluded: observation.excluded}]->(observation)
CREATE (observation)-[:IN_TRANSACTION]->(transaction)
