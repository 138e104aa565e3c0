// One observation as a record of a dump; in Python: graphmem.model.fact_records.ObservationRecord. Takes `observation`.
[observation.id, coalesce(observation.entity_id, observation.relationship_key), observation.kind,
 observation.entity_type, observation.identity_basis, observation.observed_at, observation.recorded_at,
 observation.fields, observation.values, observation.priority, observation.specificity,
 observation.observation_source, observation.agent, observation.source_id,
 observation.interpretation_id, observation.places]
