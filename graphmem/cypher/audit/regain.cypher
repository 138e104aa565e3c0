// audit.regain: have the audit find what its stretches leave out, because the property of their order is damaged.
//
// params  none
// returns subjects: INTEGER
// mode    write
// index   transaction_by_recorded (owner, recorded_at, id)
// cost    heavy
// The audit then compares and mends it. It is found by its observations. A type that is no text is that of the
// observations, or of the key of a relationship.
MATCH (transaction:Transaction)
USING INDEX SEEK transaction:Transaction(owner, recorded_at, id)
WHERE transaction.owner = $owner AND transaction.recorded_at IS NOT NULL AND transaction.id IS NOT NULL
MATCH (transaction)<-[:IN_TRANSACTION]-(observation:Observation)<-[:OBSERVED]-(:History)<-[:HAS_HISTORY]-(thing)
MATCH (thing)-[:SHOWN_AS*0..1]->(subject)
WITH subject, min(CASE observation.entity_id WHEN subject.id THEN observation.entity_type END) AS entity_type
WITH subject, CASE WHEN coalesce(subject.type STARTS WITH '', false) THEN subject.type
  WHEN subject:Entity THEN entity_type ELSE split(subject.key, ':')[0] END AS type
WHERE NOT coalesce(subject.type = type, false) OR CASE
  WHEN subject:Entity THEN NOT coalesce(subject.live IN [true, false], false)
  WHEN subject.last_observation_at IS NULL THEN coalesce(subject.observation_count > 0, true)
  ELSE coalesce(subject.last_observation_at < -62135596800000000, true) END
SET subject.live = false, subject.type = type
SET subject.last_observation_at = CASE WHEN subject:Entity THEN subject.last_observation_at ELSE 0 END
RETURN count(subject) AS subjects
