// dump.settle_first: of those of some observations that several transactions recorded, have the first one by its time and its id
// be the one that recorded it, and of each when this copy had the first of them; how many change, and the subjects of all.
//
// params  observations: LIST<STRING>
// returns changed: INTEGER, subjects: LIST<STRING>
// mode    write
// index   owner_id, observation_id
// cost    light
// The first SET takes the lock of the owner.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner
CALL () {
  UNWIND $observations AS id
  MATCH (observation:Observation {id: id})-[first:IN_TRANSACTION]->(known:Transaction)
  WHERE observation.owner = $owner
  MATCH (observation)-[again:also_in]->(other:Transaction)
  WHERE other.recorded_at < known.recorded_at OR (other.recorded_at = known.recorded_at AND other.id < known.id)
  WITH observation, first, known, again, other ORDER BY other.recorded_at, other.id
  WITH observation, first, known, head(collect([again, other])) AS least
  WITH observation, first, known, least[0] AS again, least[1] AS other
  DELETE first, again
  CREATE (observation)-[:IN_TRANSACTION]->(other), (observation)-[:also_in]->(known)
  SET observation.recorded_at = other.recorded_at
  WITH observation, coalesce(observation.entity_id, observation.relationship_key) AS home
  OPTIONAL MATCH (history:History)-[seen:OBSERVED]->(observation)
  WHERE history.home IN [home, observation.part]
  SET seen.recorded_at = observation.recorded_at
  RETURN count(DISTINCT observation) AS changed
}
CALL () {
  UNWIND $observations AS id
  MATCH (observation:Observation {id: id})
  WHERE observation.owner = $owner AND EXISTS { (observation)-[:also_in]->() }
  WITH observation, <observation._learned_at> AS learned_at
  // What a split moved is known for its new subject from when the split was.
  MATCH (:History)-[seen:OBSERVED]->(observation)
  WHERE seen.recorded_at = observation.recorded_at
  SET seen.learned_at = learned_at
}
CALL () {
  UNWIND $observations AS id
  MATCH (observation:Observation {id: id})
  WHERE observation.owner = $owner AND EXISTS { (observation)-[:also_in]->() }
  RETURN collect(DISTINCT coalesce(observation.part, observation.entity_id, observation.relationship_key)) AS subjects
}
RETURN changed, subjects
