// The columns of an entity's row without the head of its type's schema; in Python:
// graphmem.reading.shared_rows.EntityRow. Takes `held`, which is <entity._held>.
held.id, held.type, held.canonical_name, held.version, held.observation_count, held.created_at,
 held.last_observation_at, held.fields, held.values, held.winners, held.live,
 held.check, held.own, held.projection
