// observation.of_entity: one page of an entity's observations and of those merged into it, newest first; no row if it
// is not the owner's. An entity that is merged itself is what it is merged into.
//
// params  entity_id: STRING, at: INTEGER, after: STRING, recorded_since: INTEGER, recorded_until: INTEGER,
//         subject_ids: LIST<STRING>, include_deleted: BOOLEAN, offset: INTEGER, limit: INTEGER, reach: INTEGER
// returns page: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN, total: INTEGER, version: INTEGER, type: STRING
// mode    read
// index   entity_id, observed_in_time (home, at), read backwards
// cost    light
// `homes` are those that it showed at some time, instead of those of now. It goes on behind the place of `at` and
// `after`. `reach` is offset + limit + 1: no member's history is read further than that.
MATCH (given:Entity {id: $entity_id})
WHERE given.owner = $owner
MATCH (given)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND (entity.live OR $include_deleted)
CALL (entity) {
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
  CALL (member) {
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = member.id AND seen.at = $at AND seen.observation_id < $after
      AND seen.recorded_at >= $recorded_since AND seen.recorded_at <= $recorded_until
    RETURN observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $reach
    UNION ALL
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = member.id AND seen.at < $at
      AND seen.recorded_at >= $recorded_since AND seen.recorded_at <= $recorded_until
    RETURN observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $reach
  }
  WITH observation ORDER BY observation.observed_at DESC, observation.id DESC SKIP $offset LIMIT $limit + 1
  WITH collect(observation) AS every
  <observation._page>
}
RETURN page, truncated, more, entity.observation_count AS total, entity.version AS version,
  entity.type AS type
