// entity.filterable: the filterable fields of some types, if no entity of these types waits to be folded again.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN
// returns types: INTEGER, fields: LIST<LIST>
// mode    read
// index   count_type (owner, kind, type), schema_head (owner, head)
// cost    light
<entity._types>
CALL (types) {
  UNWIND types AS type
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = type AND head.pending IS NULL AND head.filterable IS NOT NULL
  RETURN collect(head.filterable) AS fields
}
RETURN size(types) AS types, fields
