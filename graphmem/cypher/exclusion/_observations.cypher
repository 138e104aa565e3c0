// The observations of a subject, as `observation`. Takes `subject_id`.
CALL (subject_id) {
  MATCH (subject:Source {id: subject_id})<-[:FROM_SOURCE]-(observation:Observation)
  WHERE subject.owner = $owner
  RETURN observation
  UNION ALL
  MATCH (subject:Interpretation {id: subject_id})<-[:BY_INTERPRETATION]-(observation:Observation)
  WHERE subject.owner = $owner
  RETURN observation
  UNION ALL
  MATCH (subject:Transaction {id: subject_id})<-[:IN_TRANSACTION]-(observation:Observation)
  WHERE subject.owner = $owner
  RETURN observation
  UNION ALL
  MATCH (subject:Agent {id: subject_id})<-[:BY_AGENT]-(:Transaction)<-[:IN_TRANSACTION]-(observation:Observation)
  WHERE subject.owner = $owner
  RETURN observation
  UNION ALL
  MATCH (subject:Split {id: subject_id})<-[:split_by]-(observation:Observation)
  WHERE subject.owner = $owner
  RETURN observation
}
