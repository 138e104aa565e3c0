// The columns of an entity's row without the head of its type's schema; in Python:
// graphmem.reading.shared_rows.EntityRow. Takes `map`, which is <entity._map>.
map.id, map.type, map.canonical_name, map.version, map.observation_count, map.created_at,
 map.last_observation_at, map.fields, map.values, map.winners, map.live,
 map.check, map.own, map.projection
