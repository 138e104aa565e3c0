// event.of_writers: one page of an owner's timeline of what some writers wrote, by time and id, with the total on request.
//
// params  writers: LIST<STRING>, event_type: STRING, entity_type: STRING, since: INTEGER, until: INTEGER, at: INTEGER,
//         after: STRING, offset: INTEGER, reach: INTEGER, counted: BOOLEAN
// returns page: LIST<LIST>, total: INTEGER, pending: LIST<LIST>
// mode    read
// index   event_by_time (owner, listed_at, id), observation_id, schema_waiting (owner, pending)
// cost    heavy
// A type that is null stands for every type. `at`, `after` and `reach` are those of event.page. The query reads on until
// the page is full: for writers that set few events this costs as much as a total.
<event._pending>
CALL () {
  CALL () {
    MATCH (event:TimelineEvent)
    USING INDEX SEEK event:TimelineEvent(owner, listed_at, id)
    WHERE event.owner = $owner AND event.listed_at = $at AND event.id BEYOND $after AND <event._of_writers>
    RETURN event ORDER BY event.owner WAY, event.listed_at WAY, event.id WAY LIMIT $reach
    UNION ALL
    MATCH (event:TimelineEvent)
    USING INDEX SEEK event:TimelineEvent(owner, listed_at, id)
    WHERE event.owner = $owner AND event.listed_at BEYOND $at AND event.listed_at >= $since
      AND event.listed_at < $until AND event.id IS NOT NULL AND <event._of_writers>
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
    AND <event._of_writers>
  RETURN count(event) AS total
}
RETURN page, total, pending
