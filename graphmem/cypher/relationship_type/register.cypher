// relationship_type.register: register a relationship type if the vocabulary still has the given revision; else no
// row, and nothing is written.
//
// params  revision: INTEGER, name: STRING, inverse: STRING, description: STRING, registered_at: INTEGER,
//         agent: STRING
// returns revision: INTEGER
// mode    write
// index   relationship_type_name
// cost    light
// sealing agent: clear, description: clear, inverse: clear, name: clear
// tenancy global: the vocabulary belongs to the database, so that a type means the same to every owner
// The first SET takes the lock of the vocabulary before the revision is compared. Of two processes that register at
// the same time, the second finds another revision, and reads the vocabulary again.
MERGE <relationship_type._gate>
ON CREATE SET gate.revision = 0
SET gate.locked = true
WITH gate WHERE gate.revision = $revision
SET gate.revision = $revision + 1
MERGE (type:RelationshipType {name: $name})
ON CREATE SET type.registered_at = $registered_at, type.agent = $agent
SET type.inverse = $inverse, type.description = $description
RETURN gate.revision AS revision
