// relationship.observations: the observations of some relationships as of two clocks, newest first; with
// `include_members`, also those of their present members.
//
// params  keys: LIST<STRING>, include_members: BOOLEAN, at: INTEGER, at_ingested: INTEGER, limit: INTEGER
// returns observations: LIST<LIST>
// mode    read
// index   relationship_key, observed_in_time (home, at), read backwards
// cost    light
UNWIND $keys AS key
MATCH (relationship:Relationship {key: key})
WHERE relationship.owner = $owner
MATCH (relationship)<-[:SHOWN_AS*0..1]-(member:Relationship)
WITH DISTINCT member WHERE $include_members OR member.key IN $keys
CALL (member) {
  WITH member, $at_ingested AS known
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = member.key AND seen.at <= $at AND seen.recorded_at <= known
    AND <observation._counts>
  RETURN observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $limit
}
WITH observation ORDER BY observation.observed_at DESC, observation.id DESC LIMIT $limit
MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
RETURN collect(<observation._row>) AS observations
