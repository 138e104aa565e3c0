// Note on observations, and on their edges, when they count, and for what; return the `entity_ids` and
// `relationship_keys` for which that changes. Takes what split._edges takes, and ends its subquery.
<split._edges>
SET observation.excluded = CASE WHEN size(excluded) > 0 THEN excluded END, observation.moved_to = moved_to,
  observation.moved_by = moved_by,
  seen.excluded = CASE WHEN size(toggles) > 0 THEN toggles END, seen.recorded_at = since,
  seen.excluded_learned = toggles_learned, seen.learned_at = since_learned
RETURN collect(DISTINCT CASE WHEN observation.entity_id IS NOT NULL THEN seen.home END) AS entity_ids,
  collect(DISTINCT CASE WHEN observation.relationship_key IS NOT NULL THEN seen.home END) AS relationship_keys
