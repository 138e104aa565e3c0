// dump.relationship_types: every relationship type that was registered, by name.
//
// params  none
// returns types: LIST<LIST>
// mode    read
// index   relationship_type_name
// cost    light
// tenancy global: the vocabulary belongs to the database, and no type says anything about anybody's data
MATCH (type:RelationshipType)
USING INDEX SEEK type:RelationshipType(name)
WHERE type.name > ''
WITH type ORDER BY type.name
RETURN collect([type.name, type.inverse, type.description, type.registered_at, type.agent]) AS types
