// Whether an event is of the wanted types and was set by the wanted writers. Takes `event`.
($event_type IS NULL OR event.event_type = $event_type)
  AND ($entity_type IS NULL OR event.entity_type = $entity_type)
  AND <event._by_writers>
