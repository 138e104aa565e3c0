// relationship_type.register: register a relationship type if the vocabulary still has the given revision, and has no
// type of this name where that is new; else no row, and nothing is written.
//
// params  revision: INTEGER, is_new: BOOLEAN, name: STRING, inverse: STRING, description: STRING, registered_at: INTEGER,
//         agent: STRING
// returns revision: INTEGER
// mode    write
// index   relationship_type_name
// cost    light
// sealing agent: clear, description: clear, inverse: clear, is_new: clear, name: clear
// tenancy global: the vocabulary belongs to the database, so that a type means the same to every owner
// The first SET takes the lock of the vocabulary before the revision is compared. Of two processes that register at
// the same time, the second finds another revision, and reads the vocabulary again. A revision may be seen before the
// type of its commit is in the index: with the lock both are seen.
MERGE <relationship_type._gate>
ON CREATE SET gate.revision = 0
SET gate.locked = true
WITH gate WHERE gate.revision = $revision AND NOT ($is_new AND EXISTS { (:RelationshipType {name: $name}) })
SET gate.revision = $revision + 1
MERGE (type:RelationshipType {name: $name})
ON CREATE SET type.registered_at = $registered_at, type.agent = $agent
SET type.inverse = $inverse, type.description = $description
RETURN gate.revision AS revision
