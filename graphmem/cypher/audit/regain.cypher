// audit.regain: have the audit find what its stretches leave out, because the property of their order is damaged.
//
// params  none
// returns subjects: INTEGER
// mode    write
// index   transaction_by_recorded (owner, recorded_at, id)
// cost    heavy
// The audit then compares and mends it. It is found by its observations.
MATCH (transaction:Transaction)
USING INDEX SEEK transaction:Transaction(owner, recorded_at, id)
WHERE transaction.owner = $owner AND transaction.recorded_at IS NOT NULL AND transaction.id IS NOT NULL
MATCH (transaction)<-[:IN_TRANSACTION]-(:Observation)<-[:OBSERVED]-(:History)<-[:HAS_HISTORY]-(thing)
MATCH (thing)-[:SHOWN_AS*0..1]->(subject)
WITH DISTINCT subject
WHERE CASE WHEN subject:Entity THEN NOT coalesce(subject.live IN [true, false], false)
  WHEN subject.last_observation_at IS NULL THEN coalesce(subject.observation_count > 0, true)
  ELSE coalesce(subject.last_observation_at < -62135596800000000, true) END
SET subject.live = false
SET subject.last_observation_at = CASE WHEN subject:Entity THEN subject.last_observation_at ELSE 0 END
RETURN count(subject) AS subjects
