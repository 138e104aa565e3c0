// relationship.page: one page of an owner's relationships of all types, newest first, with the entities at
// both ends, and the total where it is asked for.
//
// params  include_deleted: BOOLEAN, counted: BOOLEAN, expanded: BOOLEAN, offset: INTEGER,
//         limit: INTEGER
// returns page: LIST<LIST>, others: LIST<LIST>, truncated: BOOLEAN, total: INTEGER
// mode    read
// index   relationship_by_owner (owner, last_observation_at, id), entity_id
// cost    light
CALL () {
  MATCH (relationship:Relationship)
  WHERE relationship.owner = $owner AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    AND relationship.shown_as IS NULL AND (relationship.live OR $include_deleted)
  MATCH (source:Entity {id: relationship.source})
  USING INDEX source:Entity(id)
  WHERE source.live OR $include_deleted
  MATCH (target:Entity {id: relationship.target})
  USING INDEX target:Entity(id)
  WHERE target.live OR $include_deleted
  WITH relationship, source, target
  ORDER BY relationship.owner DESC, relationship.last_observation_at DESC, relationship.id DESC
  SKIP $offset LIMIT $limit
  WITH collect(relationship) AS found, collect([source, target]) AS ends,
    collect(relationship.size + CASE WHEN $expanded THEN source.size + target.size ELSE 0 END) AS sizes
  WITH found, ends, <entity._fitting> AS fitting
  CALL (ends, fitting) {
    UNWIND CASE WHEN $expanded THEN ends[..fitting] ELSE [] END AS pair
    UNWIND pair AS entity
    WITH DISTINCT entity ORDER BY entity.id
    RETURN collect(<entity._row>) AS others
  }
  RETURN [relationship IN found[..fitting] | <relationship._row>] AS page, others, size(found) > fitting AS truncated
}
CALL () {
  UNWIND CASE WHEN $counted THEN [true] ELSE [] END AS wanted
  MATCH (relationship:Relationship)
  WHERE relationship.owner = $owner AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    AND relationship.shown_as IS NULL AND (relationship.live OR $include_deleted)
  MATCH (source:Entity {id: relationship.source})
  USING INDEX source:Entity(id)
  WHERE source.live OR $include_deleted
  MATCH (target:Entity {id: relationship.target})
  USING INDEX target:Entity(id)
  WHERE target.live OR $include_deleted
  RETURN count(relationship) AS total
}
RETURN page, others, truncated, total
