// Note on observations, and on their edges, when they count; return the `entity_ids` and `relationship_keys` that they are
// about. Takes `observation` and `excluded`, and ends its subquery.
MATCH (observation)<-[seen:OBSERVED]-(:History)
WITH observation, seen, CASE WHEN size(excluded) > 0 THEN excluded END AS excluded
SET observation.excluded = excluded, seen.excluded = excluded
RETURN collect(DISTINCT observation.entity_id) AS entity_ids,
  collect(DISTINCT observation.relationship_key) AS relationship_keys
