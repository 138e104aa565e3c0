// observation.count_of_entity: the number of observations of an entity and of those merged into it, recorded since
// one time and observed between two others.
//
// params  entity_id: STRING, recorded_since: INTEGER, observed_since: INTEGER, observed_until: INTEGER,
//         include_excluded: BOOLEAN, field: STRING, writers: LIST<STRING>
// returns total: INTEGER
// mode    read
// index   entity_id, observed_in_time (home, at)
// cost    light
// forms   written
// A merged entity is counted as its survivor.
MATCH (requested_entity:Entity {id: $entity_id})
WHERE requested_entity.owner = $owner
MATCH (requested_entity)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL OR $include_excluded AND entity.merged_into = ''
MATCH (entity)<-[:MERGED_INTO*0..]-(member:Entity)
CALL (member) {
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = member.id AND seen.at >= $observed_since AND seen.at <= $observed_until
    AND seen.recorded_at >= $recorded_since
    AND ($include_excluded AND <observation._shown> OR <observation._seen_now>)
    AND ($field IS NULL OR $field IN observation.fields)
    <observation._written>
  RETURN count(observation) AS own
}
RETURN sum(own) AS total
