// The graph of facts and what is derived from them.
//
// Every key of a composite index must have a predicate in a query, or the index is not used; the queries
// name all of its keys in ORDER BY, so that a page is read in order and no further than its end.
CREATE CONSTRAINT owner_id IF NOT EXISTS FOR (n:Owner) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT agent_id IF NOT EXISTS FOR (n:Agent) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT transaction_id IF NOT EXISTS FOR (n:Transaction) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT transaction_sequence IF NOT EXISTS FOR (n:Transaction) REQUIRE (n.owner, n.sequence) IS UNIQUE;
CREATE CONSTRAINT transaction_key IF NOT EXISTS FOR (n:Transaction) REQUIRE (n.owner, n.idempotency_key) IS UNIQUE;
CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (n:Entity) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT history_home IF NOT EXISTS FOR (n:History) REQUIRE n.home IS UNIQUE;
CREATE CONSTRAINT observation_id IF NOT EXISTS FOR (n:Observation) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT relationship_key IF NOT EXISTS FOR (n:Relationship) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT relationship_id IF NOT EXISTS FOR (n:Relationship) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT schema_id IF NOT EXISTS FOR (n:Schema) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT identifier_value IF NOT EXISTS FOR (n:Identifier) REQUIRE (n.owner, n.kind, n.value) IS UNIQUE;
CREATE CONSTRAINT count_type IF NOT EXISTS FOR (n:Count) REQUIRE (n.owner, n.kind, n.type) IS UNIQUE;
// `listed` is the type while the entity is live and absent otherwise: pages and counts meet live ones only.
CREATE INDEX entity_by_type IF NOT EXISTS FOR (n:Entity) ON (n.owner, n.listed, n.id);
CREATE INDEX observed_in_time IF NOT EXISTS FOR ()-[r:OBSERVED]-() ON (r.home, r.at);
// entity_id is a key so that observations of relationships, which have none, are not in the index at all.
CREATE INDEX observation_by_owner IF NOT EXISTS FOR (n:Observation) ON (n.owner, n.observed_at, n.id, n.entity_id);
CREATE INDEX observation_by_type IF NOT EXISTS FOR (n:Observation) ON (n.owner, n.entity_type, n.observed_at, n.id);
CREATE INDEX relationship_by_source IF NOT EXISTS FOR (n:Relationship) ON (n.owner, n.source, n.last_observation_at, n.id);
CREATE INDEX relationship_by_target IF NOT EXISTS FOR (n:Relationship) ON (n.owner, n.target, n.last_observation_at, n.id);
CREATE INDEX schema_by_type IF NOT EXISTS FOR (n:Schema) ON (n.owner, n.entity_type);
