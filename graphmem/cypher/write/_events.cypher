// Write the timeline events of a turn, after its entities. A superseded event moves to the history of its entity, out
// of all indexes of the timeline: its id is still found there. Properties are set one by one, and edges in a pass of
// their own: otherwise the planner holds every event of the turn in memory twice.
CALL () {
  CALL () {
    UNWIND $renewed AS subject_id
    MATCH (entity:Entity {id: subject_id})-[has:HAS_EVENT]->(event:TimelineEvent)
    RETURN has, event
    UNION
    UNWIND $superseded AS id
    MATCH (event:TimelineEvent {id: id})<-[has:HAS_EVENT]-(:Entity)
    RETURN has, event
  }
  MATCH (history:History {home: event.entity_id})
  SET event.listed_at = null
  DELETE has
  MERGE (history)-[:HAD_EVENT]->(event)
}
CALL () {
  UNWIND $events AS one
  MERGE (event:TimelineEvent {id: one.id})
  SET event.owner = one.owner, event.entity_id = one.entity_id, event.entity_type = one.entity_type,
    event.event_type = one.event_type, event.field = one.field, event.at = one.at, event.listed_at = one.listed_at,
    event.text = one.text, event.precision = one.precision, event.observation_id = one.observation_id
}
CALL () {
  UNWIND $events AS one
  MATCH (entity:Entity {id: one.entity_id})
  MATCH (event:TimelineEvent {id: one.id})
  MERGE (entity)-[:HAS_EVENT]->(event)
}
