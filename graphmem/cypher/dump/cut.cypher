// dump.cut: the approximate number of an owner's observations, and the types of its relationships.
//
// params  none
// returns observations: INTEGER, relationship_types: LIST<STRING>
// mode    read
// index   count_type (owner, kind, type)
// cost    light
MATCH (counted:Count)
USING INDEX SEEK counted:Count(owner, kind, type)
WHERE counted.owner = $owner AND counted.kind IS NOT NULL AND counted.type IS NOT NULL
RETURN sum(counted.recorded) AS observations,
  collect(CASE counted.kind WHEN 'relationship' THEN counted.type END) AS relationship_types
