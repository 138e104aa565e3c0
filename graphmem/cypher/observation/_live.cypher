// Keep `observation` only if its entity is live, or if deleted entities are included, and if it counts, or if excluded
// observations are included.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id = coalesce(observation.moved_to, observation.entity_id)
  AND (entity.live OR $include_deleted OR $include_excluded AND NOT <observation._counts_now>)
  AND ($include_excluded OR <observation._counts_now>)
  <observation._written>
