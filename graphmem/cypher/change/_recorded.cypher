// What a transaction recorded, as the row of graphmem.changes.recorded_transactions.RecordedTransaction. Takes
// `transaction`.
[transaction.id, transaction.sequence, transaction.recorded_at, transaction.operation, transaction.client,
  head(COLLECT { MATCH (transaction)-[:BY_AGENT]->(agent:Agent) RETURN agent.thumbprint }), transaction.by,
  coalesce(transaction.restored, false),
  COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(observation:Observation)
    WITH observation ORDER BY observation.id
    RETURN [observation.id, coalesce(observation.part, observation.entity_id, observation.relationship_key), observation.kind,
      observation.entity_type, observation.observed_at, observation.fields, observation.values, observation.priority,
      observation.specificity, observation.observation_source, observation.source_id, observation.excluded]
  },
  COLLECT {
    MATCH (transaction)-[stored:stored]->(source:Source)
    WITH source, stored ORDER BY source.id
    RETURN [source.id, <source._stored_name>]
  },
  COLLECT {
    MATCH (transaction)-[:ended]->(interpretation:Interpretation)
    WITH interpretation ORDER BY interpretation.id
    RETURN [interpretation.id, interpretation.source_id, interpretation.error]
  },
  COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(exclusion:Exclusion)
    WITH exclusion ORDER BY exclusion.id
    RETURN [exclusion.kind, exclusion.subject_kind, exclusion.subject]
  },
  COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(split:Split)
    WITH split ORDER BY split.id
    RETURN [split.source, split.target, split.subjects]
  },
  COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(schema:Schema)
    WITH schema ORDER BY schema.id
    RETURN [schema.entity_type, schema.version]
  }]
