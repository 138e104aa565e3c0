// The entity that `observation` counts for: the one that it was stored for, unless a split moved it; null for an
// observation of a relationship.
CASE WHEN observation.entity_id IS NOT NULL THEN coalesce(observation.moved_to, observation.entity_id) END
