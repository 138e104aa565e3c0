// relationship.recompute: the own state of some relationships as of two clocks, in the given order; relationships
// that did not exist then, or whose metadata does not fit, are left out.
//
// params  keys: LIST<STRING>, at: INTEGER, at_ingested: INTEGER, by_writer: BOOLEAN
// returns relationships: LIST<LIST>, known: INTEGER
// mode    read
// index   owner_id, relationship_key, observed_in_time (home, at)
// cost    light
// A row is [key, tallies, winners]; see observation._tally_by_dates and observation._winners_by_dates. The present size
// of the metadata decides whether it fits.
<owner._known>
CALL () {
  UNWIND $keys AS key
  MATCH (relationship:Relationship {key: key})
  WHERE relationship.owner = $owner
  WITH collect(relationship) AS matches
  WITH matches, [relationship IN matches | relationship.size] AS sizes
  RETURN matches[..<entity._fitting>] AS fitting
}
CALL (fitting, known) {
  UNWIND fitting AS relationship
  WITH known, relationship.key AS subject_id
  CALL (subject_id, known) {
    WITH subject_id, known, <fact._latest> AS until
    <observation._tally_by_dates>
  }
  WITH known, subject_id, tallies WHERE size(tallies) > 0
  CALL (subject_id, known) {
    WITH subject_id, known, <fact._latest> AS until
    <observation._winners_by_dates>
  }
  RETURN collect([subject_id, tallies, winners]) AS relationships
}
RETURN relationships, known
