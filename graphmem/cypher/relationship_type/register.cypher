// relationship_type.register: write a relationship type, if the vocabulary is still as it was looked at; else
// nothing, and no row.
//
// params  revision: INTEGER, name: STRING, inverse: STRING, description: STRING, registered_at: INTEGER,
//         agent: STRING
// returns revision: INTEGER
// mode    write
// index   relationship_type_name
// cost    light
// tenancy global: the vocabulary belongs to the database, so that a type means the same to every owner
// The first SET takes the lock of the vocabulary before its revision is read: two processes that register at the
// same time do so one after the other, and the second looks again.
MERGE <relationship_type._gate>
ON CREATE SET gate.revision = 0
SET gate.locked = true
WITH gate WHERE gate.revision = $revision
SET gate.revision = $revision + 1
MERGE (type:RelationshipType {name: $name})
ON CREATE SET type.registered_at = $registered_at, type.agent = $agent
SET type.inverse = $inverse, type.description = $description
RETURN gate.revision AS revision
