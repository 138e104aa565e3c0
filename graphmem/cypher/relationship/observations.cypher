// relationship.observations: the observations of one relationship as of two clocks, newest first.
//
// params  key: STRING, at: INTEGER, at_ingested: INTEGER, limit: INTEGER
// returns observations: LIST<LIST>
// mode    read
// index   relationship_key, observed_in_time (home, at), read backwards
// cost    light
MATCH (relationship:Relationship {key: $key})
WHERE relationship.owner = $owner
CALL () {
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  WHERE seen.home = $key AND seen.at <= $at AND seen.recorded_at <= $at_ingested
  WITH seen, observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $limit
  MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
  RETURN collect(<observation._row>) AS observations
}
RETURN observations
