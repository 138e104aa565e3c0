// dump.merged: record that an entity was merged into another at some time, so that reads look at the observations of
// both; the newest merge of the first one, or end of a merge, as [observed_at, observation].
//
// params  source: STRING, target: STRING
// returns newest: LIST
// mode    write
// index   entity_id, observed_in_time (home, at)
// cost    light
// `target` is null for the end of a merge.
MATCH (source:Entity {id: $source})
WHERE source.owner = $owner
CALL (source) {
  MATCH (target:Entity {id: $target})
  WHERE target.owner = $owner
  MERGE (source)-[:MERGED]->(target)
}
OPTIONAL MATCH ()-[seen:OBSERVED]->()
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = $source AND seen.at IS NOT NULL AND seen.kind IN <fact._merge_kinds>
RETURN max(CASE WHEN seen IS NOT NULL THEN [seen.at, seen.observation_id] END) AS newest
