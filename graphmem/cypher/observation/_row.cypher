// One observation with its transaction and writer; in Python: graphmem.reading.shared_rows.ObservationRow.
[observation.id, <observation._subject>, observation.entity_type, observation.kind, observation.observed_at,
 observation.recorded_at, observation.fields, observation.values, observation.priority,
 observation.specificity, observation.observation_source, observation.agent, observation.source_id,
 observation.interpretation_id, observation.identity_basis, transaction.id, transaction.client,
 transaction.by, transaction.idempotency_key, observation.places, observation.excluded,
 observation.entity_id, observation.moved_by,
 CASE WHEN transaction.learned_at IS NOT NULL THEN <observation._learned_at> END]
