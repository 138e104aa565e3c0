// entity.sorted: one page of an owner's entities of some types, in the order of a property, then of ids, with the
// total; deleted and merged ones only on request.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN,
//         counted: BOOLEAN, least: ANY,
//         key: ANY, after: STRING, offset: INTEGER, limit: INTEGER, reach: INTEGER
// returns page: LIST<LIST>, merged: LIST<LIST>, keys: LIST, truncated: BOOLEAN, more: BOOLEAN, total: INTEGER
// mode    read
// index   entity_by_name, entity_by_observed, entity_by_count, entity_by_created or entity_by_updated (owner, listed,
//         the property, id), two seeks for each type, merged; entity_unlisted (owner, unlisted, id), all of it;
//         count_type (owner, kind, type)
// cost    light
// keys    name_key, last_observation_at, observation_count, created_at, updated_at
// `keys` are the property's values on the page, for the cursor. `reach` is offset + limit + 1.
<entity._types>
<entity._beyond>
CALL (types) {
  <entity._in_order>
  WITH entity SKIP $offset LIMIT $limit + 1
  WITH collect(entity) AS ordered_entities, collect(entity.KEY) AS keys
  CALL (ordered_entities) {
    WITH ordered_entities AS entities
    <entity._page>
  }
  RETURN page, merged, keys, truncated, more
}
RETURN page, merged, keys, truncated, more, CASE WHEN total < 0 THEN counted ELSE total END AS total
