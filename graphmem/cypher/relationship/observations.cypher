// relationship.observations: the observations of one relationship, and of those that it shows, newest first.
//
// params  key: STRING, limit: INTEGER
// returns observations: LIST<LIST>
// mode    read
// index   relationship_key, observed_in_time (home, at), read backwards
// cost    light
MATCH (relationship:Relationship {key: $key})
WHERE relationship.owner = $owner
CALL (relationship) {
  MATCH (relationship)<-[:SHOWN_AS*0..1]-(member:Relationship)
  CALL (member) {
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    WHERE seen.home = member.key AND seen.at IS NOT NULL
    RETURN observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $limit
  }
  WITH observation ORDER BY observation.observed_at DESC, observation.id DESC LIMIT $limit
  MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
  RETURN collect(<observation._row>) AS observations
}
RETURN observations
