// entity.scan_sorted: a stretch of an owner's entities of some types, in the order of a property, with the values of
// some fields.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN,
//         least: ANY, key: ANY, after: STRING,
//         fields: LIST<STRING>, cut: INTEGER, reach: INTEGER
// returns candidates: LIST<LIST>, keys: LIST, heads: LIST<LIST>
// mode    read
// index   those of entity.sorted; schema_head (owner, head)
// cost    heavy
// keys    name_key, last_observation_at, observation_count, created_at, updated_at
<entity._types>
CALL (types) {
  <entity._in_order>
  RETURN collect(<entity._candidate>) AS candidates, collect(entity.KEY) AS keys
}
RETURN candidates, keys, <entity._heads>
