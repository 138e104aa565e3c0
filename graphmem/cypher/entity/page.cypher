// entity.page: one page of an owner's entities of some types, by id, with the total; deleted and merged ones only on
// request.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN,
//         counted: BOOLEAN, after: STRING,
//         offset: INTEGER, limit: INTEGER, reach: INTEGER
// returns page: LIST<LIST>, merged: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN, total: INTEGER
// mode    read
// index   entity_by_type (owner, listed, id), entity_unlisted (owner, unlisted, id), a seek for each type, merged;
//         count_type (owner, kind, type)
// cost    light
// No types means every type. `reach` is offset + limit + 1: at most so many entities of a type are read.
<entity._types>
<entity._beyond>
CALL (types) {
  <entity._in_order_of_id>
  WITH entity SKIP $offset LIMIT $limit + 1
  WITH collect(entity) AS entities
  <entity._page>
}
RETURN page, merged, truncated, more, CASE WHEN total < 0 THEN counted ELSE total END AS total
