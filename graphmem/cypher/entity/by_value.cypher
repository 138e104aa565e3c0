// entity.by_value: a stretch of the entities of some types whose field has one of some values, by id.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN,
//         field: STRING,
//         values: LIST<STRING>, after: STRING, fields: LIST<STRING>, cut: INTEGER, reach: INTEGER
// returns trusted: BOOLEAN, candidates: LIST<LIST>, keys: LIST, entries: INTEGER, last: LIST, heads: LIST<LIST>,
//         total: INTEGER
// mode    read
// index   field_value (owner, type, field, value, entity_id), a seek for each type and key; entity_id, count_type
//         (owner, kind, type), schema_head (owner, head)
// cost    light
// sealing values: equal $field
// `entries` is the number of index entries that were read; `last` is the last of them. The index holds live entities
// only.
<entity._types>
<entity._trusted>
CALL (types) {
  UNWIND types AS type
  UNWIND $values AS key
  CALL (type, key) {
    MATCH (value:FieldValue)
    USING INDEX SEEK value:FieldValue(owner, type, field, value, entity_id)
    WHERE value.owner = $owner AND value.type = type AND value.field = $field AND value.value = key
      AND value.entity_id BEYOND $after
    RETURN value.entity_id AS id
    ORDER BY value.owner WAY, value.type WAY, value.field WAY, value.value WAY, value.entity_id WAY LIMIT $reach
  }
  WITH DISTINCT id ORDER BY id WAY LIMIT $reach
  RETURN collect([id, '']) AS entries
}
CALL (entries) {
  <entity._of_values>
}
RETURN trusted, candidates, keys, size(entries) AS entries, entries[-1] AS last, <entity._heads>, total
