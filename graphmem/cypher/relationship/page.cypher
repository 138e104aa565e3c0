// relationship.page: one page of an owner's relationships of all types, newest first, with the entities at both ends,
// and the total on request.
//
// params  entity_type: STRING, include_deleted: BOOLEAN, counted: BOOLEAN, expanded: BOOLEAN, time: INTEGER,
//         after: STRING, offset: INTEGER, limit: INTEGER, reach: INTEGER, writers: LIST<STRING>
// returns page: LIST<LIST>, others: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN, total: INTEGER
// mode    read
// index   relationship_by_owner (owner, last_observation_at, id), entity_id
// cost    light
// forms   written
// The page begins after the relationship `after` of the time `time`: one seek reads the relationships of that time, a
// second one the earlier ones. With `entity_type` the query reads on until the page is full: for a rare type this
// costs as much as a total.
CALL () {
  CALL () {
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.last_observation_at = $time AND relationship.id < $after
      AND <relationship._listed>
    <relationship._ends>
    RETURN relationship, source, target
    ORDER BY relationship.owner DESC, relationship.last_observation_at DESC, relationship.id DESC
    LIMIT $reach
    UNION ALL
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.last_observation_at < $time
      AND relationship.id IS NOT NULL AND <relationship._listed>
    <relationship._ends>
    RETURN relationship, source, target
    ORDER BY relationship.owner DESC, relationship.last_observation_at DESC, relationship.id DESC
    LIMIT $reach
  }
  WITH relationship, source, target
  ORDER BY relationship.last_observation_at DESC, relationship.id DESC SKIP $offset LIMIT $limit + 1
  WITH collect(relationship) AS relationships, collect([source, target]) AS ends,
    collect(relationship.size + CASE WHEN $expanded THEN source.size + target.size ELSE 0 END) AS sizes
  <relationship._page>
}
CALL () {
  UNWIND CASE WHEN $counted THEN [true] ELSE [] END AS condition
  MATCH (relationship:Relationship)
  USING INDEX SEEK relationship:Relationship(owner, last_observation_at, id)
  WHERE relationship.owner = $owner AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    AND <relationship._listed>
  <relationship._ends>
  RETURN count(relationship) AS total
}
RETURN page, others, truncated, more, total
