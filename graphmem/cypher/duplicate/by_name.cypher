// duplicate.by_name: the live entities of some types in the order of names, each with the entities that share an
// exact identifier with it.
//
// params  types: LIST<STRING>, after: STRING, limit: INTEGER, compared: LIST<STRING>
// returns page: LIST<LIST>, last: STRING
// mode    read
// index   identifier_value (owner, kind, value): a range of it, in order
// cost    heavy
// `last` is the last name that was read, null at the end. Of each name, and of each identifier, at most 50 entities
// are read.
CALL () {
  MATCH (identifier:Identifier)
  USING INDEX SEEK identifier:Identifier(owner, kind, value)
  WHERE identifier.owner = $owner AND identifier.kind = 'name' AND identifier.value > $after
  WITH identifier ORDER BY identifier.owner, identifier.kind, identifier.value LIMIT $limit
  RETURN collect(identifier) AS names
}
CALL (names) {
  UNWIND names AS identifier
  CALL (identifier) {
    MATCH (identifier)-[:IDENTIFIES]->(entity:Entity)
    WHERE entity.listed IN $types
    RETURN entity LIMIT 50
  }
  WITH DISTINCT entity
  CALL (entity) {
    RETURN entity AS candidate
    UNION
    MATCH (entity)<-[:IDENTIFIES]-(shared:Identifier)
    WHERE shared.kind <> 'name' AND COUNT { (shared)-[:IDENTIFIES]->() } > 1
    MATCH (shared)-[:IDENTIFIES]->(candidate:Entity)
    WHERE candidate.listed = entity.listed
    RETURN candidate LIMIT 50
  }
  WITH DISTINCT candidate AS entity
  RETURN collect(<duplicate._row>) AS page
}
RETURN page, names[-1].value AS last
