// relationship.recompute: what the own observations of relationships come to, as of two clocks, in the order given;
// those that were not there yet, and those whose metadata do not fit, are left out.
//
// params  keys: LIST<STRING>, at: INTEGER, at_ingested: INTEGER
// returns relationships: LIST<LIST>, known: INTEGER
// mode    read
// index   owner_id, relationship_key, observed_in_time (home, at)
// cost    light
// What fits is judged by what they hold today.
<owner._known>
CALL () {
  UNWIND $keys AS key
  MATCH (relationship:Relationship {key: key})
  WHERE relationship.owner = $owner
  WITH collect(relationship) AS found
  WITH found, [one IN found | one.size] AS sizes
  RETURN found[..<entity._fitting>] AS fitting
}
CALL (fitting, known) {
  UNWIND fitting AS relationship
  CALL (relationship, known) {
    MATCH ()-[seen:OBSERVED]->()
    WHERE seen.home = relationship.key AND seen.at <= $at AND seen.recorded_at <= known
    RETURN count(seen) AS observations, count(DISTINCT seen.recorded_at) AS version,
      min(seen.recorded_at) AS created_at, max(seen.at) AS last,
      max(CASE WHEN seen.kind IN ['create', 'delete', 'restore'] THEN [seen.at, seen.observation_id, seen.kind] END) AS turn
  }
  WITH known, relationship, observations, version, created_at, last, turn WHERE turn IS NOT NULL
  CALL (relationship, known) {
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    WHERE seen.home = relationship.key AND seen.at <= $at AND seen.recorded_at <= known
      AND seen.kind IN ['value', 'correction', 'create']
    WITH observation.fields AS fields, observation.values AS values, observation.id AS observation_id,
      observation.observed_at AS observed_at
    UNWIND range(0, size(fields) - 1) AS i
    WITH fields[i] AS field, max([observed_at, observation_id, values[i]]) AS winner
    RETURN collect([field, winner[0], winner[1], winner[2]]) AS fold
  }
  RETURN collect([relationship.key, version, observations, created_at, last, turn, fold]) AS relationships
}
RETURN relationships, known
