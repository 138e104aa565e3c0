// What of an entity is compared; domain side: graphmem.writing.duplicate_probe. Takes `entity`, `$compared`.
// Of a very large entity (in characters of its values) the name alone is, as values are not read one by one.
[entity.id, entity.type, left(entity.canonical_name, 1000), entity.observation_count, entity.created_at,
 CASE WHEN entity.size <= 200000 THEN [i IN range(0, size(entity.fields) - 1)
   WHERE entity.fields[i] IN $compared AND size(entity.values[i]) <= 1000 | [entity.fields[i], entity.values[i]]]
   ELSE [] END]
