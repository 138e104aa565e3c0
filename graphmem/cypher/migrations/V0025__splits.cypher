// Splits: from when on observations count for other entities and relationships than those that they are about.
CREATE CONSTRAINT split_id IF NOT EXISTS FOR (n:Split) REQUIRE n.id IS UNIQUE;
CREATE INDEX split_by_recorded IF NOT EXISTS FOR (n:Split) ON (n.owner, n.recorded_at, n.id);
