// The part of an entity that is compared for likeness; in Python: graphmem.writing.duplicate_probe.profile. Takes
// `entity` and `$compared`. Of a very large entity only the name is compared, because its values are not read.
[entity.id, entity.type, left(entity.canonical_name, 1000), entity.observation_count, entity.created_at,
 CASE WHEN entity.size <= 200000 THEN [i IN range(0, size(entity.fields) - 1)
   WHERE entity.fields[i] IN $compared AND size(entity.values[i]) <= 1000 | [entity.fields[i], entity.values[i]]]
   ELSE [] END]
