// event.page: one page of an owner's timeline, by time and id, with the total on request.
//
// params  since: INTEGER, until: INTEGER, at: INTEGER, after: STRING, offset: INTEGER, reach: INTEGER,
//         counted: BOOLEAN
// returns page: LIST<LIST>, total: INTEGER, pending: LIST<LIST>
// mode    read
// index   event_by_time (owner, listed_at, id), schema_waiting (owner, pending)
// cost    light
// The page begins after the event `after` of the time `at`; on the first page `at` is outside of [since, until). One
// seek reads the events of the time `at`, a second one the events beyond. `reach` is offset + limit: neither seek
// reads more.
<event._pending>
CALL () {
  CALL () {
    MATCH (event:TimelineEvent)
    USING INDEX SEEK event:TimelineEvent(owner, listed_at, id)
    WHERE event.owner = $owner AND event.listed_at = $at AND event.id BEYOND $after
    RETURN event ORDER BY event.owner WAY, event.listed_at WAY, event.id WAY LIMIT $reach
    UNION ALL
    MATCH (event:TimelineEvent)
    USING INDEX SEEK event:TimelineEvent(owner, listed_at, id)
    WHERE event.owner = $owner AND event.listed_at BEYOND $at AND event.listed_at >= $since
      AND event.listed_at < $until AND event.id IS NOT NULL
    RETURN event ORDER BY event.owner WAY, event.listed_at WAY, event.id WAY LIMIT $reach
  }
  WITH event ORDER BY event.listed_at WAY, event.id WAY LIMIT $reach
  RETURN collect(event)[$offset..] AS events
}
<event._page>
CALL () {
  WITH $counted AS counted WHERE counted
  MATCH (event:TimelineEvent)
  USING INDEX SEEK event:TimelineEvent(owner, listed_at, id)
  WHERE event.owner = $owner AND event.listed_at >= $since AND event.listed_at < $until AND event.id IS NOT NULL
  RETURN count(event) AS total
}
RETURN page, total, pending
