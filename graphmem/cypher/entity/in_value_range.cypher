// entity.in_value_range: the entities of some types with a value of a field in some ranges, in no order.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN,
//         field: STRING, ranges: LIST<LIST>,
//         lossy: INTEGER, key: STRING, fields: LIST<STRING>, cut: INTEGER, most: INTEGER
// returns trusted: BOOLEAN, candidates: LIST<LIST>, keys: LIST, entries: INTEGER, last: LIST, heads: LIST<LIST>,
//         total: INTEGER
// mode    read
// index   field_value (owner, type, field, value, entity_id), a range of it for each type and range; entity_id,
//         count_type (owner, kind, type), schema_head (owner, head)
// cost    light
// A range is [first key, key after the last, text that each key contains]. A key that is longer than `lossy` may
// stand for several values, so the caller compares the values themselves. `most` bounds the entities. `keys` are the
// values of the property `key`.
<entity._types>
<entity._trusted>
CALL (types) {
  UNWIND types AS type
  UNWIND $ranges AS range
  MATCH (value:FieldValue)
  USING INDEX SEEK value:FieldValue(owner, type, field, value, entity_id)
  WHERE value.owner = $owner AND value.type = type AND value.field = $field AND value.value >= range[0]
    AND value.value < range[1] AND value.entity_id IS NOT NULL
    AND (range[2] = '' OR value.value CONTAINS range[2] OR size(value.value) > $lossy)
  WITH DISTINCT value.entity_id AS id LIMIT $most
  RETURN collect([id, '']) AS entries
}
CALL (entries) {
  UNWIND entries AS entry
  MATCH (entity:Entity {id: entry[0]})
  WHERE entity.owner = $owner AND entity.listed IS NOT NULL
  RETURN collect(<entity._candidate>) AS candidates, collect([<entity._key>]) AS keys
}
RETURN trusted, candidates, keys, size(entries) AS entries, entries[-1] AS last, <entity._heads>, total
