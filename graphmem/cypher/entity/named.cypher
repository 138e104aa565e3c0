// entity.named: one page of an owner's entities that have a name, by id, with the total; deleted and merged ones only
// on request.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN,
//         name: STRING, after: STRING, offset: INTEGER, limit: INTEGER
// returns page: LIST<LIST>, merged: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN, total: INTEGER
// mode    read
// index   identifier_value (owner, kind, value), one seek; merged
// cost    light
// sealing name: equal name
// No types means every type. `name` is folded. What has it through a member alone is left out.
CALL () {
  MATCH (identifier:Identifier)
  USING INDEX SEEK identifier:Identifier(owner, kind, value)
  WHERE identifier.owner = $owner AND identifier.kind = 'name' AND identifier.value = $name
  MATCH (identifier)-[:IDENTIFIES]->(entity:Entity)
  WHERE entity.owner = $owner AND entity.name_key = $name AND (size($types) = 0 OR entity.type IN $types)
    AND (entity.listed IS NOT NULL OR <entity._included>)
  RETURN count(entity) AS total, collect(CASE WHEN entity.id BEYOND $after THEN entity END) AS named
}
CALL (named) {
  UNWIND named AS entity
  WITH entity ORDER BY entity.id WAY SKIP $offset LIMIT $limit + 1
  WITH collect(entity) AS entities
  <entity._page>
}
RETURN page, merged, truncated, more, total
