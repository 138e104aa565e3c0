// What of an entity decides whether, and where, it stands in an answer; domain side: graphmem.reading.scan.Candidate.
// Takes `entity` and `$fields`. Values are cut short: an empty text stands for one that is longer than `$cut`, and null
// for all of them where the entity is so large that they are not looked at one by one.
[entity.id, entity.type, entity.merged_into, entity.projection, entity.created_at,
 coalesce(entity.updated_at, 0),
 CASE WHEN size($fields) = 0 THEN [] WHEN entity.size > 20000 THEN null
   ELSE [name IN $fields | [i IN range(0, size(entity.fields) - 1) WHERE entity.fields[i] = name |
     CASE WHEN size(entity.values[i]) <= $cut THEN entity.values[i] ELSE '' END][0]] END]
