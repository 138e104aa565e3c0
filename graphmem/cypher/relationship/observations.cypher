// relationship.observations: a page of the observations of some relationships as of two clocks, newest first; with
// `include_members`, also those of their present members.
//
// params  keys: LIST<STRING>, include_members: BOOLEAN, at: INTEGER, at_ingested: INTEGER,
//         by_writer: BOOLEAN, time: INTEGER,
//         after: STRING, offset: INTEGER, limit: INTEGER, reach: INTEGER
// returns observations: LIST<LIST>
// mode    read
// index   relationship_key, observed_in_time (home, at), read backwards
// cost    light
// The page begins after the observation `after` of the time `time`. `reach` is offset + limit.
UNWIND $keys AS key
MATCH (relationship:Relationship {key: key})
WHERE relationship.owner = $owner
MATCH (relationship)<-[:SHOWN_AS*0..1]-(member:Relationship)
WITH DISTINCT member WHERE $include_members OR member.key IN $keys
CALL (member) {
  WITH member, $at_ingested AS known
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = member.key AND seen.at <= $at AND <observation._learned>
    AND seen.at <= $time AND (seen.at < $time OR seen.observation_id < $after)
    AND <observation._counts>
  RETURN observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $reach
}
WITH observation ORDER BY observation.observed_at DESC, observation.id DESC SKIP $offset LIMIT $limit
MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
RETURN collect(<observation._row>) AS observations
