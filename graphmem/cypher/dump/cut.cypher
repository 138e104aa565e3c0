// dump.cut: how far an owner's order of writes has come, about how much there is, and the types of relationships.
//
// params  none
// returns sequence: INTEGER, observations: INTEGER, relationship_types: LIST<STRING>
// mode    read
// index   owner_id, count_type (owner, kind, type)
// cost    light
// The sequence is read first: the counters are those of then, or of later. The limit keeps the planner from moving it.
OPTIONAL MATCH (found:Owner {id: $owner})
WITH coalesce(found.sequence, 0) AS sequence LIMIT 1
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind IS NOT NULL AND counted.type IS NOT NULL
  RETURN sum(counted.recorded) AS observations,
    collect(CASE counted.kind WHEN 'relationship' THEN counted.type END) AS relationship_types
}
RETURN sequence, observations, relationship_types
