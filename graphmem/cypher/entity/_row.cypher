// One entity with its current snapshot; domain side: graphmem.operations.answers.EntityRow. The last part is the
// head of its type's schema: the rules that the snapshot must be folded under, and the registered version.
[entity.id, entity.type, entity.canonical_name, entity.version, entity.observation_count, entity.created_at,
 entity.last_observation_at, entity.fields, entity.values, entity.winners, entity.live,
 entity.check, entity.own, entity.projection,
 COLLECT { MATCH (head:Schema) WHERE head.owner = $owner AND head.head = entity.type
   RETURN [head.projection, head.active_version] }]
