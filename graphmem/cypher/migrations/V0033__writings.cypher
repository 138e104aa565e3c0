// Writings that were withdrawn: what one writer wrote in a span of time.
CREATE CONSTRAINT writing_id IF NOT EXISTS FOR (n:Writing) REQUIRE (n.owner, n.id) IS UNIQUE;
CREATE INDEX writing_by_writer IF NOT EXISTS FOR (n:Writing) ON (n.owner, n.writer);
