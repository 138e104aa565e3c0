// Whether the observation of the edge `seen` is one of the edge's subject now: no split moved it to another one.
coalesce(observation.moved_to, observation.entity_id) = seen.home
