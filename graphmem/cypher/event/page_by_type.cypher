// event.page_by_type: one page of an owner's events of one type, of entities of one type where it is given.
//
// params  event_type: STRING, entity_type: STRING, since: INTEGER, until: INTEGER, descending: BOOLEAN,
//         at: INTEGER, after: STRING,
//         offset: INTEGER, reach: INTEGER, counted: BOOLEAN
// returns page: LIST<LIST>, total: INTEGER, pending: LIST<LIST>
// mode    read
// index   event_by_type (owner, event_type, listed_at, id), schema_waiting (owner, pending)
// cost    light
// It goes on after the event `after` at the time `at`, which is outside of [since, until) at the beginning. `reach` is
// offset + limit: neither of the two seeks reads further than that.
CALL () {
  WITH $descending AS descending WHERE NOT descending
  MATCH (event:TimelineEvent)
  WHERE event.owner = $owner AND event.event_type = $event_type
    AND ($entity_type IS NULL OR event.entity_type = $entity_type)
    AND event.listed_at = $at AND event.id > $after
  WITH event ORDER BY event.owner, event.event_type, event.listed_at, event.id LIMIT $reach
  RETURN 0 AS part, collect(event) AS events
  UNION ALL
  WITH $descending AS descending WHERE NOT descending
  MATCH (event:TimelineEvent)
  WHERE event.owner = $owner AND event.event_type = $event_type
    AND ($entity_type IS NULL OR event.entity_type = $entity_type)
    AND event.listed_at > $at AND event.listed_at < $until AND event.id IS NOT NULL
  WITH event ORDER BY event.owner, event.event_type, event.listed_at, event.id LIMIT $reach
  RETURN 1 AS part, collect(event) AS events
  UNION ALL
  WITH $descending AS descending WHERE descending
  MATCH (event:TimelineEvent)
  WHERE event.owner = $owner AND event.event_type = $event_type
    AND ($entity_type IS NULL OR event.entity_type = $entity_type)
    AND event.listed_at = $at AND event.id < $after
  WITH event ORDER BY event.owner DESC, event.event_type DESC, event.listed_at DESC, event.id DESC LIMIT $reach
  RETURN 2 AS part, collect(event) AS events
  UNION ALL
  WITH $descending AS descending WHERE descending
  MATCH (event:TimelineEvent)
  WHERE event.owner = $owner AND event.event_type = $event_type
    AND ($entity_type IS NULL OR event.entity_type = $entity_type)
    AND event.listed_at < $at AND event.listed_at >= $since AND event.id IS NOT NULL
  WITH event ORDER BY event.owner DESC, event.event_type DESC, event.listed_at DESC, event.id DESC LIMIT $reach
  RETURN 3 AS part, collect(event) AS events
}
WITH part, events ORDER BY part
WITH collect(events) AS parts
WITH reduce(every = [], events IN parts | every + events)[$offset..$reach] AS found
CALL (found) {
  UNWIND found AS event
  MATCH (event)<-[:HAS_EVENT]-(entity:Entity)
  MATCH (observation:Observation {id: event.observation_id})
  RETURN collect(<event._row>) AS page
}
CALL () {
  WITH $counted AS counted WHERE counted
  MATCH (event:TimelineEvent)
  WHERE event.owner = $owner AND event.event_type = $event_type
    AND ($entity_type IS NULL OR event.entity_type = $entity_type)
    AND event.listed_at >= $since AND event.listed_at < $until AND event.id IS NOT NULL
  RETURN count(event) AS total
}
<event._pending>
RETURN page, total, pending
