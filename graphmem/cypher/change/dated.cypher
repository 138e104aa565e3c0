// change.dated: the entities that have, or had, a date within some spans.
//
// params  spans: LIST<LIST>, types: LIST<STRING>
// returns entity_ids: LIST<STRING>
// mode    read
// index   event_by_date (owner, at)
// cost    light
// A span begins after its first time and ends with its second one. No types are all types.
CALL () {
  UNWIND $spans AS span
  MATCH (event:TimelineEvent)
  USING INDEX SEEK event:TimelineEvent(owner, at)
  WHERE event.owner = $owner AND event.at > span[0] AND event.at <= span[1]
    AND (size($types) = 0 OR event.entity_type IN $types)
  RETURN collect(DISTINCT event.entity_id) AS entity_ids
}
RETURN entity_ids
