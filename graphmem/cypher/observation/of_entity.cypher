// observation.of_entity: one page of the observations of an entity and of its members, newest first; no row if it is
// not the owner's. A merged entity is answered as its survivor.
//
// params  entity_id: STRING, observed_since: INTEGER, at: INTEGER, after: STRING, recorded_since: INTEGER,
//         recorded_until: INTEGER,
//         by_writer: BOOLEAN, subject_ids: LIST<STRING>, include_deleted: BOOLEAN, include_excluded: BOOLEAN,
//         field: STRING, offset: INTEGER, limit: INTEGER, reach: INTEGER, writers: LIST<STRING>
// returns page: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN, total: INTEGER, version: INTEGER, type: STRING
// mode    read
// index   entity_id, observed_in_time (home, at), read backwards
// cost    light
// forms   written
// `subject_ids` are the entity's members at an earlier time; null means its present members. The page begins after
// the observation `after` of the time `at`. `reach` is offset + limit + 1: at most so many observations of each
// member are read.
MATCH (requested_entity:Entity {id: $entity_id})
WHERE requested_entity.owner = $owner
MATCH (requested_entity)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND (entity.live OR $include_deleted) 
  OR ($include_excluded OR $subject_ids IS NOT NULL) AND entity.merged_into = ''
CALL (entity) {
  WITH entity, $recorded_until AS known
  CALL (entity) {
    WITH entity WHERE $subject_ids IS NULL
    MATCH (entity)<-[:MERGED_INTO*0..]-(member:Entity)
    RETURN member
    UNION ALL
    UNWIND coalesce($subject_ids, []) AS id
    MATCH (member:Entity {id: id})
    WHERE member.owner = $owner
    RETURN member
  }
  CALL (member, known) {
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = member.id AND seen.at = $at AND seen.observation_id < $after AND seen.at >= $observed_since
      AND seen.recorded_at >= $recorded_since AND <observation._learned>
      AND ($include_excluded AND <observation._shown> OR <observation._counts>)
      AND ($field IS NULL OR $field IN observation.fields)
      <observation._written>
    RETURN observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $reach
    UNION ALL
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = member.id AND seen.at < $at AND seen.at >= $observed_since
      AND seen.recorded_at >= $recorded_since AND <observation._learned>
      AND ($include_excluded AND <observation._shown> OR <observation._counts>)
      AND ($field IS NULL OR $field IN observation.fields)
      <observation._written>
    RETURN observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $reach
  }
  WITH observation ORDER BY observation.observed_at DESC, observation.id DESC SKIP $offset LIMIT $limit + 1
  WITH collect(observation) AS observations
  <observation._page>
}
RETURN page, truncated, more, entity.observation_count AS total, entity.version AS version,
  entity.type AS type
