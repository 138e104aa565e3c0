// event.of_source: one page of the timeline events that the observations of a source set, by time and id, with the
// total.
//
// params  source_id: STRING, event_type: STRING, entity_type: STRING, since: INTEGER, until: INTEGER,
//         descending: BOOLEAN, at: INTEGER, after: STRING, offset: INTEGER, reach: INTEGER, writers: LIST<STRING>
// returns page: LIST<LIST>, total: INTEGER, pending: LIST<LIST>
// mode    read
// index   source_id, entity_id, schema_waiting (owner, pending)
// cost    heavy
// forms   written
// Each observation of the source is read, and the events of its entity, which are at most 100. `at`, `after` and
// `reach` are those of event.page.
<event._pending>
CALL () {
  MATCH (source:Source {id: $source_id})
  WHERE source.owner = $owner
  MATCH (source)<-[:FROM_SOURCE]-(observation:Observation)<-[seen:OBSERVED]-(:History)
  MATCH (entity:Entity {id: seen.home})
  MATCH (entity)-[:MERGED_INTO*0..]->(survivor:Entity)-[:HAS_EVENT]->(event:TimelineEvent)
  WHERE event.observation_id = observation.id AND event.listed_at >= $since AND event.listed_at < $until
    AND ($event_type IS NULL OR event.event_type = $event_type)
    AND ($entity_type IS NULL OR event.entity_type = $entity_type)
    <event._written>
  WITH DISTINCT event ORDER BY event.listed_at, event.id
  RETURN collect(event) AS matches
}
WITH pending, size(matches) AS total,
  [event IN CASE WHEN $descending THEN reverse(matches) ELSE matches END WHERE CASE
    WHEN event.listed_at = $at THEN CASE WHEN $descending THEN event.id < $after ELSE event.id > $after END
    ELSE (event.listed_at < $at) = $descending END][$offset..$reach] AS events
<event._page>
RETURN page, total, pending
