// relationship.observations: the observations of one relationship, newest first.
//
// params  key: STRING, limit: INTEGER
// returns observations: LIST<LIST>
// mode    read
// index   relationship_key, observed_in_time (home, at), read backwards
// cost    light
MATCH (relationship:Relationship {key: $key})
WHERE relationship.owner = $owner
CALL () {
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  WHERE seen.home = $key AND seen.at IS NOT NULL
  WITH seen, observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $limit
  MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
  RETURN collect(<observation._row>) AS observations
}
RETURN observations
