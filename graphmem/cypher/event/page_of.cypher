// event.page_of: one page of an owner's timeline, restricted to one event type or to one entity type, by time and id,
// with the total on request.
//
// params  key: STRING, entity_type: STRING, since: INTEGER, until: INTEGER, at: INTEGER, after: STRING,
//         offset: INTEGER, reach: INTEGER, counted: BOOLEAN
// returns page: LIST<LIST>, total: INTEGER, pending: LIST<LIST>
// mode    read
// index   event_by_type or event_by_entity_type (owner, the key, listed_at, id), schema_waiting (owner, pending)
// cost    light
// keys    event_type, entity_type
// `key` is an event type or an entity type, as the form of the query says. `entity_type` also restricts a page of an
// event type; it is null where the key is an entity type. `at`, `after` and `reach` are those of event.page.
<event._pending>
CALL () {
  CALL () {
    MATCH (event:TimelineEvent)
    USING INDEX SEEK event:TimelineEvent(owner, KEY, listed_at, id)
    WHERE event.owner = $owner AND event.KEY = $key AND event.listed_at = $at AND event.id BEYOND $after
      AND ($entity_type IS NULL OR event.entity_type = $entity_type)
    RETURN event ORDER BY event.owner WAY, event.KEY WAY, event.listed_at WAY, event.id WAY LIMIT $reach
    UNION ALL
    MATCH (event:TimelineEvent)
    USING INDEX SEEK event:TimelineEvent(owner, KEY, listed_at, id)
    WHERE event.owner = $owner AND event.KEY = $key AND event.listed_at BEYOND $at AND event.listed_at >= $since
      AND event.listed_at < $until AND event.id IS NOT NULL
      AND ($entity_type IS NULL OR event.entity_type = $entity_type)
    RETURN event ORDER BY event.owner WAY, event.KEY WAY, event.listed_at WAY, event.id WAY LIMIT $reach
  }
  WITH event ORDER BY event.listed_at WAY, event.id WAY LIMIT $reach
  RETURN collect(event)[$offset..] AS events
}
<event._page>
CALL () {
  WITH $counted AS counted WHERE counted
  MATCH (event:TimelineEvent)
  USING INDEX SEEK event:TimelineEvent(owner, KEY, listed_at, id)
  WHERE event.owner = $owner AND event.KEY = $key AND event.listed_at >= $since AND event.listed_at < $until
    AND event.id IS NOT NULL AND ($entity_type IS NULL OR event.entity_type = $entity_type)
  RETURN count(event) AS total
}
RETURN page, total, pending
