// One entity with its current snapshot; domain side: graphmem.operations.answers.EntityRow.
[entity.id, entity.type, entity.canonical_name, entity.version, entity.observation_count, entity.created_at,
 entity.last_observation_at, entity.fields, entity.values, entity.winners, entity.live,
 entity.check]
