// Keeps `observation` where its entity lives, unless deleted ones are asked for.
MATCH (entity:Entity {id: observation.entity_id})
WHERE entity.live OR $include_deleted
