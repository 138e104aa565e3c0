// The part of an entity that decides whether and where it is in an answer; in Python: graphmem.reading.scan.ScannedEntity.
// Takes `entity` and `$fields`. An empty text stands for a value that is longer than `$cut`. Null stands for all
// values of an entity that is too large to read them one by one.
[entity.id, entity.type, entity.merged_into, entity.projection, entity.created_at,
 coalesce(entity.updated_at, 0),
 CASE WHEN size($fields) = 0 THEN [] WHEN entity.size > 20000 THEN null
   ELSE [name IN $fields | head([lists IN [[entity.fields, entity.values]] |
     [i IN range(0, size(lists[0]) - 1) WHERE lists[0][i] = name |
     CASE WHEN size(lists[1][i]) <= $cut THEN lists[1][i] ELSE '' END]])[0]] END]
