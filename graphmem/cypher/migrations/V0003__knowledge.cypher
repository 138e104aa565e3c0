// Registered schemas, merges and registered relationship types.
//
// One node per owner and type is the head of its schema: what was discovered, and what of the registered document
// decides snapshots. `head` is its type, absent on the versions.
CREATE INDEX schema_head IF NOT EXISTS FOR (n:Schema) ON (n.owner, n.head);
CREATE CONSTRAINT relationship_type_name IF NOT EXISTS FOR (n:RelationshipType) REQUIRE n.name IS UNIQUE;
MATCH (n:Schema) WHERE n.version IS NULL AND n.head IS NULL SET n.head = n.entity_type;
// Every statement that changes what is derived raises the revision; transactions alone raise the sequence.
MATCH (n:Owner) WHERE n.revision IS NULL SET n.revision = n.sequence;
