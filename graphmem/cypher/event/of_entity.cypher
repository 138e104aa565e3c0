// event.of_entity: one page of the timeline events of an entity, or of the survivor that it is merged into; no row if
// it is not the owner's, or is deleted.
//
// params  entity_id: STRING, source_id: STRING, event_type: STRING, entity_type: STRING, since: INTEGER,
//         until: INTEGER, descending: BOOLEAN, at: INTEGER, after: STRING, offset: INTEGER, reach: INTEGER,
//         writers: LIST<STRING>
// returns page: LIST<LIST>, total: INTEGER, stale: STRING
// mode    read
// index   entity_id, schema_head, observation_id
// cost    light
// forms   written
// An entity has at most 100 events, which are all sorted. `stale` is the survivor's id if it was folded by rules that
// have changed since.
MATCH (requested_entity:Entity {id: $entity_id})
WHERE requested_entity.owner = $owner
MATCH (requested_entity)-[:MERGED_INTO*0..]->(survivor:Entity)
WHERE survivor.merged_into IS NULL AND survivor.live
OPTIONAL MATCH (head:Schema)
USING INDEX SEEK head:Schema(owner, head)
WHERE head.owner = $owner AND head.head = survivor.type
CALL (survivor) {
  MATCH (survivor)-[:HAS_EVENT]->(event:TimelineEvent)
  WHERE event.listed_at >= $since AND event.listed_at < $until
    AND ($event_type IS NULL OR event.event_type = $event_type)
    AND ($entity_type IS NULL OR event.entity_type = $entity_type)
    AND ($source_id IS NULL OR EXISTS {
      MATCH (observation:Observation {id: event.observation_id})
      WHERE observation.source_id = $source_id
    })
    <event._written>
  WITH event ORDER BY event.listed_at, event.id
  RETURN collect(event) AS matches
}
WITH survivor, head, size(matches) AS total,
  [event IN CASE WHEN $descending THEN reverse(matches) ELSE matches END WHERE CASE
    WHEN event.listed_at = $at THEN CASE WHEN $descending THEN event.id < $after ELSE event.id > $after END
    ELSE (event.listed_at < $at) = $descending END][$offset..$reach] AS events
<event._page>
RETURN page, total,
  CASE WHEN coalesce(survivor.projection, '') <> coalesce(head.projection, '') THEN survivor.id END AS stale
