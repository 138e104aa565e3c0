// The observations of a subject, as `observation`. Takes `subject_id`. Merges are undone by unmerges: they stay.
CALL (subject_id) {
  MATCH (subject:Source {id: subject_id})<-[:FROM_SOURCE]-(observation:Observation)
  WHERE subject.owner = $owner
  RETURN observation
  UNION ALL
  MATCH (subject:Interpretation {id: subject_id})<-[:BY_INTERPRETATION]-(observation:Observation)
  WHERE subject.owner = $owner
  RETURN observation
  UNION ALL
  MATCH (subject:Transaction {id: subject_id})<-[:IN_TRANSACTION|also_in]-(observation:Observation)
  WHERE subject.owner = $owner AND NOT observation.kind IN <fact._merge_kinds>
  RETURN observation
  UNION ALL
  // The id of a writing says its writer and its span: graphmem.model.ids.writing_id.
  WITH subject_id WHERE subject_id STARTS WITH 'wrt_'
  WITH toInteger(substring(subject_id, 4, 20)) AS since, toInteger(substring(subject_id, 24, 20)) AS until,
    substring(subject_id, 44) AS writer
  MATCH (agent:Agent)
  USING INDEX SEEK agent:Agent(owner)
  WHERE agent.owner = $owner AND writer IN agent.writers
  MATCH (agent)<-[:BY_AGENT]-(transaction:Transaction)<-[:IN_TRANSACTION|also_in]-(observation:Observation)
  WHERE transaction.recorded_at >= since AND transaction.recorded_at < until
    AND NOT observation.kind IN <fact._merge_kinds>
  RETURN observation
  UNION ALL
  MATCH (subject:Split {id: subject_id})<-[:split_by]-(observation:Observation)
  WHERE subject.owner = $owner
  RETURN observation
}
