// audit.regain: have the audit find what its stretches leave out, because the property of their order is damaged.
//
// params  none
// returns subjects: INTEGER
// mode    write
// index   transaction_by_recorded (owner, recorded_at, id), entity_id, relationship_key
// cost    heavy
// The audit then compares and mends it. It is found by its observations, of which two properties have its id or key. The
// type of an entity is that of an observation, unless another property has it: then the observation is damaged. That of a
// relationship stands in its key.
MATCH (transaction:Transaction)
USING INDEX SEEK transaction:Transaction(owner, recorded_at, id)
WHERE transaction.owner = $owner AND transaction.recorded_at IS NOT NULL AND transaction.id IS NOT NULL
MATCH (transaction)<-[:IN_TRANSACTION]-(observation:Observation)<-[seen:OBSERVED]-(:History)<-[:HAS_HISTORY]-(thing)
MATCH (thing)-[:SHOWN_AS*0..1]->(subject)
WITH subject, thing, CASE seen.home WHEN coalesce(observation.relationship_key, observation.entity_id) THEN seen.home END
  AS home, observation
WITH subject, min(CASE subject WHEN thing THEN home END) AS home,
  collect(DISTINCT CASE home WHEN IS NOT NULL THEN observation.entity_type END) AS types
CALL (subject, home) {
  // `LIMIT`: of sound subjects nothing is sought, for that takes locks.
  WITH subject, home WHERE subject:Entity AND NOT coalesce(subject.id = home, home IS NULL)
  WITH subject, home LIMIT 1 WHERE NOT EXISTS { (:Entity {id: home}) }
  SET subject.id = home
  UNION ALL
  WITH subject, home WHERE subject:Relationship AND NOT coalesce(subject.key = home, home IS NULL)
  WITH subject, home LIMIT 1 WHERE NOT EXISTS { (:Relationship {key: home}) }
  SET subject.key = home
}
CALL (subject) {
  WITH subject, split(subject.key, ':') AS parts
  WHERE subject:Relationship AND NOT coalesce(subject.source = parts[1] AND subject.target = parts[2], false)
  SET subject.source = parts[1], subject.target = parts[2]
}
CALL (subject) {
  // No statement of the audit finds these, to take them away.
  MATCH (subject)-[:HAS_EVENT|IDENTIFIES|identified]-(named)
  WHERE NOT coalesce(named.id STARTS WITH '' OR named.kind STARTS WITH '' AND named.value STARTS WITH '', false)
  DETACH DELETE named
}
WITH subject, CASE WHEN subject:Relationship THEN split(subject.key, ':')[0]
  WHEN coalesce(subject.type IN types OR subject.type = subject.listed, false) THEN subject.type
  ELSE coalesce(types[0], subject.type) END AS type
WHERE NOT coalesce(subject.type = type, false) OR CASE
  WHEN subject:Entity THEN NOT coalesce(subject.live IN [true, false], false)
  WHEN subject.last_observation_at IS NULL THEN coalesce(subject.observation_count > 0, true)
  ELSE coalesce(subject.last_observation_at < -62135596800000000, true) END
SET subject.live = false, subject.type = type
SET subject.last_observation_at = CASE WHEN subject:Entity THEN subject.last_observation_at ELSE 0 END
RETURN count(subject) AS subjects
