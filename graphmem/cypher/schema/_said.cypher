// One observation of a sample, of each value the beginning; domain side: graphmem.matching.schema_candidates.Said.
[observation.entity_id, observation.kind, observation.identity_basis, observation.fields,
 [value IN observation.values | left(value, $cut)]]
