// entity.scan: a stretch of an owner's entities of some types, by id, with the values of some fields.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN,
//         after: STRING, fields: LIST<STRING>,
//         cut: INTEGER, reach: INTEGER
// returns candidates: LIST<LIST>, keys: LIST, heads: LIST<LIST>
// mode    read
// index   entity_by_type (owner, listed, id), entity_unlisted (owner, unlisted, id), a seek for each type, merged;
//         count_type (owner, kind, type), schema_head (owner, head)
// cost    heavy
<entity._types>
CALL (types) {
  <entity._in_order_of_id>
  RETURN collect(<entity._candidate>) AS candidates
}
RETURN candidates, [] AS keys, <entity._heads>
