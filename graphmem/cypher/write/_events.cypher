// Write the timeline events of a turn, after its entities. A superseded event moves to the history of its entity, and
// thus out of every index of the timeline; its id still names it. Properties are set one by one, and edges are made
// in a second pass: otherwise the planner holds every event of the turn in memory twice. The owner counts the events that
// are listed. A damaged number hinders no write. Takes `owner`.
CALL (owner) {
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
  SET event.listed_at = null, owner.events = toIntegerOrNull(owner.events) - 1
  DELETE has
  MERGE (history)-[:HAD_EVENT]->(event)
}
CALL () {
  UNWIND $events AS row
  MERGE (event:TimelineEvent {id: row.id})
  SET event.owner = row.owner, event.entity_id = row.entity_id, event.entity_type = row.entity_type,
    event.event_type = row.event_type, event.field = row.field, event.at = row.at, event.listed_at = row.listed_at,
    event.text = row.text, event.precision = row.precision, event.observation_id = row.observation_id
}
CALL (owner) {
  UNWIND $events AS row
  MATCH (entity:Entity {id: row.entity_id})
  MATCH (event:TimelineEvent {id: row.id})
  MERGE (entity)-[:HAS_EVENT]->(event)
  ON CREATE SET owner.events = owner.events + 1
}
