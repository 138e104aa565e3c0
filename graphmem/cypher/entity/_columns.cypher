// The columns of an entity's row without the head of its type's schema; in Python:
// graphmem.reading.shared_rows.EntityRow. Takes `entity`.
entity.id, entity.type, entity.canonical_name, entity.version, entity.observation_count, entity.created_at,
 entity.last_observation_at, entity.fields, entity.values, entity.winners, entity.live,
 entity.check, entity.own, entity.projection
