// One observation of a sample, with the beginning of each value; in Python:
// graphmem.reading.schema_candidates.SampledObservation. Takes `observation` and `$cut`.
[<observation._subject>, observation.kind, observation.identity_basis, observation.fields,
 [value IN observation.values | CASE WHEN value STARTS WITH <fact._sealed>
  THEN head([placed IN [[observation.id, value]] | <entity._placed>]) ELSE left(value, $cut) END]]
