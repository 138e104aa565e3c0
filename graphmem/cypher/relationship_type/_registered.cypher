// Every registered relationship type, by name, and the revision of the vocabulary. The revision is read first: if a type
// is registered meanwhile, the answer has the old revision and is read again.
OPTIONAL MATCH <relationship_type._gate>
WITH coalesce(gate.revision, 0) AS revision LIMIT 1
CALL () {
  MATCH (type:RelationshipType)
  USING INDEX SEEK type:RelationshipType(name)
  WHERE type.name > ''
  WITH type ORDER BY type.name
  RETURN collect([type.name, type.inverse, type.description]) AS types
}
