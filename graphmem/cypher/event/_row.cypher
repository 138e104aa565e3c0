// One timeline event of an answer; in Python: graphmem.reading.timeline_pages.EventRow. Takes `event`, `entity` and the
// `observation` that set it. The name is cut: it may be of any length, and a page has hundreds of events.
[event.id, event.event_type, event.field, event.at, event.text, event.entity_id, event.entity_type,
 head([placed IN [[entity.id, <entity._short_name>]] | <entity._placed>]), event.observation_id, observation.recorded_at, observation.source_id,
 observation.agent, head(COLLECT {
   MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
   RETURN [transaction.client, transaction.by]
 })]
