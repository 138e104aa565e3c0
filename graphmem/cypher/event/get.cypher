// event.get: one timeline event, current or superseded; no row if it is not the owner's.
//
// params  event_id: STRING
// returns event: LIST, listed: BOOLEAN, stale: STRING
// mode    read
// index   event_id, entity_id, observation_id, schema_head
// cost    light
// `stale` is the id of the event's entity if the entity was folded by rules that have changed since.
MATCH (event:TimelineEvent {id: $event_id})
WHERE event.owner = $owner
MATCH (entity:Entity {id: event.entity_id})
MATCH (observation:Observation {id: event.observation_id})
WHERE <observation._counts_now>
OPTIONAL MATCH (head:Schema)
USING INDEX SEEK head:Schema(owner, head)
WHERE head.owner = $owner AND head.head = entity.type
RETURN <event._row> AS event, event.listed_at IS NOT NULL AS listed,
  CASE WHEN entity.merged_into IS NULL AND coalesce(entity.projection, '') <> coalesce(head.projection, '')
    THEN entity.id END AS stale
