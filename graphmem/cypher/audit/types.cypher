// audit.types: the types of everything that an owner has, and how much there is.
//
// params  none
// returns entities: LIST<STRING>, relationships: LIST<STRING>, total: INTEGER
// mode    read
// index   schema_head (owner, head), count_type (owner, kind, type)
// cost    light
CALL () {
  MATCH (head:Schema)
  WHERE head.owner = $owner AND head.head IS NOT NULL
  RETURN collect(head.head) AS entities
}
CALL () {
  MATCH (counted:Count)
  WHERE counted.owner = $owner AND counted.kind = 'relationship' AND counted.type IS NOT NULL
  RETURN collect(counted.type) AS relationships
}
CALL () {
  MATCH (counted:Count)
  WHERE counted.owner = $owner AND counted.kind IS NOT NULL AND counted.type IS NOT NULL
  RETURN sum(counted.known) AS total
}
RETURN entities, relationships, total
