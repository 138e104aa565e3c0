// entity.in_value_order: a stretch of the entities of some types in the order of a field's values, then of ids.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN,
//         field: STRING, key: STRING,
//         after: STRING, beyond: STRING, fields: LIST<STRING>, cut: INTEGER, reach: INTEGER
// returns trusted: BOOLEAN, candidates: LIST<LIST>, keys: LIST, entries: INTEGER, last: LIST, heads: LIST<LIST>,
//         total: INTEGER
// mode    read
// index   field_value (owner, type, field, value, entity_id), two seeks for each type; entity_id, count_type (owner,
//         kind, type), schema_head (owner, head)
// cost    light
// `entries` is the number of index entries that were read; `last` is the last of them. The index holds live entities
// only. It also holds the elements of lists, and values that have no place in the order: their keys begin at
// `beyond`, where the reading ends.
<entity._types>
<entity._trusted>
CALL (types) {
  UNWIND types AS type
  CALL (type) {
    MATCH (value:FieldValue)
    USING INDEX SEEK value:FieldValue(owner, type, field, value, entity_id)
    WHERE value.owner = $owner AND value.type = type AND value.field = $field AND value.value = $key
      AND value.entity_id BEYOND $after
    RETURN value
    ORDER BY value.owner WAY, value.type WAY, value.field WAY, value.value WAY, value.entity_id WAY LIMIT $reach
    UNION ALL
    MATCH (value:FieldValue)
    USING INDEX SEEK value:FieldValue(owner, type, field, value, entity_id)
    WHERE value.owner = $owner AND value.type = type AND value.field = $field AND value.value BEYOND $key
      AND value.value < $beyond AND value.entity_id IS NOT NULL
    RETURN value
    ORDER BY value.owner WAY, value.type WAY, value.field WAY, value.value WAY, value.entity_id WAY LIMIT $reach
  }
  WITH value ORDER BY value.value WAY, value.entity_id WAY LIMIT $reach
  RETURN collect([value.entity_id, value.value]) AS entries
}
CALL (entries) {
  <entity._of_values>
}
RETURN trusted, candidates, keys, size(entries) AS entries, entries[-1] AS last, <entity._heads>, total
