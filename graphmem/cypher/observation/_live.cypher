// Keep `observation` only if its entity is live, or if deleted entities are included.
MATCH (entity:Entity {id: observation.entity_id})
WHERE entity.live OR $include_deleted
