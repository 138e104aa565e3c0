// Write the new observations of one row below its history. Takes `row` and `history`.
UNWIND row.observations AS said
MATCH (transaction:Transaction {id: said.transaction_id})
CREATE (observation:Observation)
SET observation = said.properties
CREATE (history)-[:OBSERVED {home: row.home, at: observation.observed_at,
  recorded_at: observation.recorded_at, observation_id: observation.id, kind: observation.kind}]->(observation)
CREATE (observation)-[:IN_TRANSACTION]->(transaction)
