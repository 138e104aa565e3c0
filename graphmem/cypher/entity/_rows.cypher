// The rows of the first `fitting` entities of a list, as `page`; a row is that of <entity._row>. Takes `entities` and
// `fitting`. The head of each type's schema is read once: reading it for each entity takes a fifth of the page's
// cost.
CALL (entities, fitting) {
  WITH entities[..fitting] AS page_entities
  CALL (page_entities) {
    UNWIND page_entities AS entity
    WITH DISTINCT entity.type AS type
    MATCH (head:Schema)
    USING INDEX SEEK head:Schema(owner, head)
    WHERE head.owner = $owner AND head.head = type
    RETURN collect([type, head.projection, head.active_version]) AS heads
  }
  UNWIND page_entities AS entity
  WITH heads, <entity._map> AS map
  RETURN collect([<entity._columns>, [head IN heads WHERE head[0] = map.type | head[1..]]]) AS page
}
