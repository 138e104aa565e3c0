// exclusion.of_observations: the exclusions because of which some observations do not count now, the earliest first.
//
// params  observation_ids: LIST<STRING>
// returns exclusions: LIST<LIST>
// mode    read
// index   observation_id, exclusion_by_subject (owner, subject, recorded_at, id), writing_by_writer (owner, writer)
// cost    light
UNWIND $observation_ids AS id
MATCH (observation:Observation {id: id})
WHERE observation.owner = $owner
CALL (observation) {
  MATCH (observation)-[:FROM_SOURCE]->(subject:Source)
  RETURN subject
  UNION
  MATCH (observation)-[:BY_INTERPRETATION]->(subject:Interpretation)
  RETURN subject
  UNION
  MATCH (observation)-[:IN_TRANSACTION|also_in]->(subject:Transaction)
  RETURN subject
  UNION
  MATCH (observation)-[:IN_TRANSACTION|also_in]->(transaction:Transaction)-[:BY_AGENT]->(agent:Agent)
  UNWIND agent.writers AS writer
  MATCH (subject:Writing)
  USING INDEX SEEK subject:Writing(owner, writer)
  WHERE subject.owner = $owner AND subject.writer = writer
    AND subject.since <= transaction.recorded_at AND transaction.recorded_at < subject.until
  RETURN subject
}
WITH observation, subject WHERE size(subject.excluded) % 2 = 1
CALL (subject) {
  MATCH (exclusion:Exclusion)
  USING INDEX SEEK exclusion:Exclusion(owner, subject, recorded_at, id)
  WHERE exclusion.owner = $owner AND exclusion.subject = subject.id AND exclusion.recorded_at = last(subject.excluded)
    AND exclusion.id IS NOT NULL
  RETURN exclusion
}
WITH observation, exclusion ORDER BY exclusion.recorded_at, exclusion.id
RETURN collect([observation.id, exclusion.id, exclusion.subject_kind, exclusion.subject, exclusion.recorded_at,
  head([placed IN [[exclusion.id, exclusion.reason]] | <entity._placed>])]) AS exclusions
