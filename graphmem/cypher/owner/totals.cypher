// owner.totals: how much an owner has stored, deleted entities included; no row for an owner who has stored nothing.
//
// params  none
// returns entities: INTEGER, observations: INTEGER, relationships: INTEGER, transactions: INTEGER, relationship_types:
//         LIST<STRING>
// mode    read
// index   owner_id, count_type (owner, kind, type)
// cost    light
MATCH (owner:Owner {id: $owner})
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind IS NOT NULL AND counted.type IS NOT NULL
  RETURN sum(CASE counted.kind WHEN 'entity' THEN counted.known ELSE 0 END) AS entities,
    sum(CASE counted.kind WHEN 'relationship' THEN counted.known ELSE 0 END) AS relationships,
    sum(counted.recorded) AS observations,
    collect(CASE counted.kind WHEN 'relationship' THEN counted.type END) AS relationship_types
}
RETURN entities, observations, relationships, coalesce(owner.sequence, 0) AS transactions, relationship_types
