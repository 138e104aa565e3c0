// exclusion.of_observations: the exclusions because of which some observations do not count now, the earliest first.
//
// params  observation_ids: LIST<STRING>
// returns exclusions: LIST<LIST>
// mode    read
// index   observation_id, exclusion_by_subject (owner, subject, recorded_at, id)
// cost    light
UNWIND $observation_ids AS id
MATCH (observation:Observation {id: id})
WHERE observation.owner = $owner
CALL (observation) {
  MATCH (observation)-[:FROM_SOURCE]->(subject:Source)
  RETURN subject
  UNION ALL
  MATCH (observation)-[:BY_INTERPRETATION]->(subject:Interpretation)
  RETURN subject
  UNION ALL
  MATCH (observation)-[:IN_TRANSACTION]->(subject:Transaction)
  RETURN subject
  UNION ALL
  MATCH (observation)-[:IN_TRANSACTION]->(:Transaction)-[:BY_AGENT]->(subject:Agent)
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
  exclusion.reason]) AS exclusions
