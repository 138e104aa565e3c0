// entity.named: one page of an owner's entities that have a name, by id, with the total; deleted and merged ones only
// on request.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN,
//         name: STRING, after: STRING, offset: INTEGER, limit: INTEGER
// returns page: LIST<LIST>, merged: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN, total: INTEGER, unlike: LIST<LIST>
// mode    read
// index   identifier_value (owner, kind, value), one seek; merged
// cost    light
// sealing name: equal name
// No types means every type. `name` is folded. What has it through a member alone is left out; `unlike` has these, by
// id and name: if it is the name of one, its folded name is damaged.
CALL () {
  MATCH (identifier:Identifier)
  USING INDEX SEEK identifier:Identifier(owner, kind, value)
  WHERE identifier.owner = $owner AND identifier.kind = 'name' AND identifier.value = $name
  MATCH (identifier)-[:IDENTIFIES]->(entity:Entity)
  WHERE entity.owner = $owner AND (size($types) = 0 OR entity.type IN $types)
    AND (entity.listed IS NOT NULL OR <entity._included>)
  WITH entity, coalesce(entity.name_key = $name, false) AS is_named
  RETURN count(CASE WHEN is_named THEN 1 END) AS total,
    collect(CASE WHEN is_named AND entity.id BEYOND $after THEN entity END) AS named,
    collect(CASE WHEN NOT is_named THEN [entity.id, entity.canonical_name] END)[..$limit] AS unlike
}
CALL (named) {
  UNWIND named AS entity
  WITH entity ORDER BY entity.id WAY SKIP $offset LIMIT $limit + 1
  WITH collect(entity) AS entities
  <entity._page>
}
RETURN page, merged, truncated, more, total, unlike
