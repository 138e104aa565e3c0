// dump.relationship_types: every registered relationship type, by name.
//
// params  none
// returns types: LIST<LIST>
// mode    read
// index   relationship_type_name
// cost    light
// tenancy global: the vocabulary belongs to the database, and a type says nothing about the data of an owner
MATCH (type:RelationshipType)
USING INDEX SEEK type:RelationshipType(name)
WHERE type.name > ''
WITH type ORDER BY type.name
RETURN collect([type.name, type.inverse, type.description, type.registered_at, type.agent]) AS types
