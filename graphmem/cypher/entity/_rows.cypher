// The rows of the first `fitting` entities of `found`, as `page`; a row is that of <entity._row>. Takes `found` and
// `fitting`. The head of each type's schema is read once: to read it for each entity would take a fifth of the page's
// cost.
CALL (found, fitting) {
  WITH found[..fitting] AS shown
  CALL (shown) {
    UNWIND shown AS one
    WITH DISTINCT one.type AS type
    MATCH (head:Schema)
    USING INDEX SEEK head:Schema(owner, head)
    WHERE head.owner = $owner AND head.head = type
    RETURN collect([type, head.projection, head.active_version]) AS heads
  }
  UNWIND shown AS entity
  RETURN collect([<entity._columns>, [head IN heads WHERE head[0] = entity.type | head[1..]]]) AS page
}
