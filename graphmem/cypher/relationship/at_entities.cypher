// relationship.at_entities: every relationship at some entities as of two clocks.
//
// params  subject_ids: LIST<STRING>, outgoing: BOOLEAN, incoming: BOOLEAN, type: STRING, at: INTEGER,
//         at_ingested: INTEGER, by_writer: BOOLEAN
// returns relationships: LIST<LIST>
// mode    read
// index   owner_id, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id),
//         observed_in_time (home, at)
// cost    light
// A row is [key, turns]; see relationship._turn. Relationships that were recorded later are left out.
// The rows have no order: the caller sorts them by time, so all of them are read.
<owner._known>
CALL (known) {
  CALL (known) {
    UNWIND CASE WHEN $outgoing THEN $subject_ids ELSE [] END AS subject_id
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.source = subject_id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship
    UNION
    UNWIND CASE WHEN $incoming THEN $subject_ids ELSE [] END AS subject_id
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.target = subject_id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship
  }
  WITH known, relationship WHERE (relationship.created_at <= known OR relationship.excluded)
    AND ($type IS NULL OR relationship.type = $type)
  WITH known, relationship.key AS subject_id
  CALL (subject_id, known) {
    <relationship._turn>
  }
  WITH subject_id, turns WHERE any(turn IN turns WHERE turn[1] IS NOT NULL)
  RETURN collect([subject_id, turns]) AS relationships
}
RETURN relationships
