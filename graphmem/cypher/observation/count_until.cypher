// observation.count_until: the number of an owner's observations of entities between two times, of some types or of all.
//
// params  observed_since: INTEGER, observed_until: INTEGER, types: LIST<STRING>, include_deleted: BOOLEAN,
//         include_excluded: BOOLEAN, writers: LIST<STRING>
// returns total: INTEGER
// mode    read
// index   observation_by_owner (owner, observed_at, id, entity_id), entity_id
// cost    heavy
// forms   written
// No types means every type.
MATCH (observation:Observation)
USING INDEX SEEK observation:Observation(owner, observed_at, id, entity_id)
WHERE observation.owner = $owner AND observation.observed_at >= $observed_since
  AND observation.observed_at <= $observed_until AND observation.id IS NOT NULL
  AND observation.entity_id IS NOT NULL AND (size($types) = 0 OR observation.entity_type IN $types)
<observation._live>
RETURN count(observation) AS total
