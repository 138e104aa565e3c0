// entity.page: one page of an owner's entities of some types, by id, with their total; live ones unless said.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, offset: INTEGER, limit: INTEGER, reach: INTEGER
// returns page: LIST<LIST>, truncated: BOOLEAN, total: INTEGER
// mode    read
// index   entity_by_type (owner, listed, id), or entity_by_state (owner, type, live, id),
//         a seek for each type, merged; count_type (owner, kind, type)
// cost    light
// No types means all that the owner has. `reach` is offset + limit: no type is read further than that.
CALL () {
  MATCH (counted:Count)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IS NOT NULL
    AND (size($types) = 0 OR counted.type IN $types)
  RETURN collect(counted.type) AS types, 
    sum(CASE WHEN $include_deleted THEN counted.known ELSE counted.total END) AS total
}
CALL (types) {
  UNWIND types AS type
  CALL (type) {
    MATCH (entity:Entity)
    WHERE entity.owner = $owner AND entity.listed = type AND entity.id IS NOT NULL
    RETURN entity ORDER BY entity.owner, entity.listed, entity.id LIMIT $reach
    UNION ALL
    WITH type WHERE $include_deleted
    MATCH (entity:Entity)
    WHERE entity.owner = $owner AND entity.type = type AND entity.live = false AND entity.id IS NOT NULL
      AND entity.merged_into IS NULL
    RETURN entity ORDER BY entity.owner, entity.type, entity.live, entity.id LIMIT $reach
  }
  WITH entity ORDER BY entity.id SKIP $offset LIMIT $limit
  WITH collect(entity) AS found
  WITH found, [one IN found | one.size] AS sizes
  WITH found, <entity._fitting> AS fitting
  CALL (found, fitting) {
    UNWIND found[..fitting] AS entity
    RETURN collect(<entity._row>) AS page
  }
  RETURN page, size(found) > fitting AS truncated
}
RETURN page, truncated, total
