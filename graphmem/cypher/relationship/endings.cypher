// relationship.endings: the metadata of some relationships that may say that they ended.
//
// params  keys: LIST<STRING>, names: LIST<STRING>, characters: INTEGER
// returns relationships: LIST<LIST>
// mode    read
// index   relationship_key
// cost    light
// A row is [key, [[field, value], ...], refold]. It has the fields whose names are among `names` in lower case and
// without `_`, `-` and blanks, and whose values have at most `characters`. Relationships without such a field have no
// row, unless they are to be folded again (`refold`).
UNWIND $keys AS key
MATCH (relationship:Relationship {key: key})
WHERE relationship.owner = $owner
WITH relationship {.key, .fields, .values, .refold} AS map
WITH map.key AS key, map.refold AS refold, [i IN range(0, size(map.fields) - 1)
  WHERE replace(replace(replace(toLower(map.fields[i]), '_', ''), '-', ''), ' ', '') IN $names
    AND any(lists IN [[map.fields, map.values]] WHERE <entity._short>) |
  [map.fields[i], head([placed IN [[map.key, map.values[i]]] | <entity._placed>])]] AS metadata
WHERE size(metadata) > 0 OR refold IS NOT NULL
RETURN collect([key, metadata, refold]) AS relationships
