// parting.place: have observations count for the parts of an address that they are about, from the first on.
//
// params  placed: LIST<LIST>
// returns revision: INTEGER
// mode    write
// index   owner_id, observation_id, entity_id, relationship_key, history_home, source_id, interpretation_id,
//         transaction_id, writing_by_writer (owner, writer), split_id
// cost    light
// sealing placed: clear
// A row of `placed` is [observation, the entity or relationship that it counts for; null for the one that it was stored
// for]. A split that moves an observation beats it. What it counts for no more keeps its edge, on which `excluded` says
// so. The revision tells turns that looked before that they must look again.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner
SET owner.revision = owner.revision + 1, owner.refolding = true
WITH owner
CALL () {
  UNWIND $placed AS row
  MATCH (observation:Observation {id: row[0]})
  WHERE observation.owner = $owner
  SET observation.part = row[1]
  WITH observation, coalesce(row[1], observation.entity_id, observation.relationship_key) AS subject_id
  CALL (subject_id) {
    MATCH (entity:Entity {id: subject_id})
    MERGE (entity)-[:HAS_HISTORY]->(history:History {home: subject_id})
    RETURN history
    UNION ALL
    MATCH (relationship:Relationship {key: subject_id})
    MERGE (relationship)-[:HAS_HISTORY]->(history:History {home: subject_id})
    RETURN history
  }
  MERGE (history)-[seen:OBSERVED {home: subject_id, observation_id: observation.id}]->(observation)
  ON CREATE SET seen.at = observation.observed_at, seen.kind = observation.kind,
    seen.recorded_at = observation.recorded_at
  WITH DISTINCT observation
  <exclusion._of_observation>
  <exclusion._note>
}
<exclusion._mark>
RETURN owner.revision AS revision
