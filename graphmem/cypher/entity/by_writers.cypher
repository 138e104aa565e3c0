// entity.by_writers: those of some entities about which some writers wrote an observation that counts, of the entity or
// of what is merged into it.
//
// params  entity_ids: LIST<STRING>, writers: LIST<STRING>
// returns ids: LIST<STRING>
// mode    read
// index   entity_id, observed_in_time (home, at)
// cost    heavy
// All observations of an entity about which they wrote nothing are read.
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND EXISTS {
  MATCH (entity)<-[:MERGED_INTO*0..]-(member:Entity)
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = member.id AND seen.at IS NOT NULL AND <observation._counts_now> AND <observation._by_writers>
}
RETURN collect(id) AS ids
