// The further filters of the observations of a source. Takes `observation`.
AND observation.entity_id IS NOT NULL AND observation.recorded_at >= $recorded_since
    AND ($entity_id IS NULL OR coalesce(observation.moved_to, observation.entity_id) = $entity_id)
    AND ($entity_type IS NULL OR observation.entity_type = $entity_type)
