// The part of an entity that is compared for likeness; in Python: duplicate_pages.profile. Takes
// `entity` and `$compared`. Of a small entity all fields are read: to choose among them takes longer. Of a very large
// one only the name is compared, because its values are not read.
[entity.id, entity.type, <entity._short_name>, entity.observation_count, entity.created_at,
 CASE WHEN entity.size <= 2000 THEN entity.fields
   WHEN entity.size <= 200000 THEN [name IN entity.fields WHERE name IN $compared] ELSE [] END,
 CASE WHEN entity.size <= 2000 THEN entity.values
   WHEN entity.size <= 200000 THEN head([lists IN [[entity.fields, entity.values]] |
     [i IN range(0, size(lists[0]) - 1) WHERE lists[0][i] IN $compared |
     CASE WHEN size(lists[1][i]) <= 1000 OR lists[1][i] STARTS WITH <fact._sealed> THEN lists[1][i] END]]) ELSE [] END]
