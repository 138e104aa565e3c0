// One observation of a sample, with the beginning of each value; in Python:
// graphmem.reading.schema_candidates.SampledObservation. Takes `observation` and `$cut`.
[<observation._subject>, observation.kind, observation.identity_basis, observation.fields,
 [value IN observation.values | left(value, $cut)]]
