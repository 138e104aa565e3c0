// relationship.at_all: every relationship of an owner as of two clocks, of all types or of one.
//
// params  type: STRING, at: INTEGER, at_ingested: INTEGER, by_writer: BOOLEAN
// returns relationships: LIST<LIST>
// mode    read
// index   owner_id, relationship_by_owner (owner, last_observation_at, id), observed_in_time (home, at)
// cost    heavy
// A row is that of relationship.at_entities. Every relationship that was recorded by then is read.
<owner._known>
CALL (known) {
  MATCH (relationship:Relationship)
  USING INDEX SEEK relationship:Relationship(owner, last_observation_at, id)
  WHERE relationship.owner = $owner AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    AND (relationship.created_at <= known OR relationship.excluded)
    AND ($type IS NULL OR relationship.type = $type)
  WITH known, relationship.key AS subject_id
  CALL (subject_id, known) {
    <relationship._turn>
  }
  WITH subject_id, turns WHERE any(turn IN turns WHERE turn[1] IS NOT NULL)
  RETURN collect([subject_id, turns]) AS relationships
}
RETURN relationships
