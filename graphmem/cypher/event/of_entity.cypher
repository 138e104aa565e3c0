// event.of_entity: one page of the timeline events of an entity, or of the survivor that it is merged into; no row if
// it is not the owner's, or is deleted.
//
// params  entity_id: STRING, event_type: STRING, entity_type: STRING, since: INTEGER, until: INTEGER,
//         descending: BOOLEAN, at: INTEGER, after: STRING, offset: INTEGER, reach: INTEGER
// returns page: LIST<LIST>, total: INTEGER, stale: STRING
// mode    read
// index   entity_id, schema_head
// cost    light
// An entity has at most 100 events, which are all sorted. `stale` is the entity's id if it was folded by rules that
// have changed since.
MATCH (given:Entity {id: $entity_id})
WHERE given.owner = $owner
MATCH (given)-[:MERGED_INTO*0..]->(shown:Entity)
WHERE shown.merged_into IS NULL AND shown.live
OPTIONAL MATCH (head:Schema)
USING INDEX SEEK head:Schema(owner, head)
WHERE head.owner = $owner AND head.head = shown.type
CALL (shown) {
  MATCH (shown)-[:HAS_EVENT]->(event:TimelineEvent)
  WHERE event.listed_at >= $since AND event.listed_at < $until
    AND ($event_type IS NULL OR event.event_type = $event_type)
    AND ($entity_type IS NULL OR event.entity_type = $entity_type)
  WITH event ORDER BY event.listed_at, event.id
  RETURN collect(event) AS every
}
WITH shown, head, size(every) AS total,
  [event IN CASE WHEN $descending THEN reverse(every) ELSE every END WHERE CASE
    WHEN event.listed_at = $at THEN CASE WHEN $descending THEN event.id < $after ELSE event.id > $after END
    ELSE (event.listed_at < $at) = $descending END][$offset..$reach] AS found
<event._page>
RETURN page, total,
  CASE WHEN coalesce(shown.projection, '') <> coalesce(head.projection, '') THEN shown.id END AS stale
