// Sources: the files of an owner, each once, and the observations that came with them.
CREATE CONSTRAINT source_id IF NOT EXISTS FOR (n:Source) REQUIRE n.id IS UNIQUE;
CREATE INDEX source_by_recorded IF NOT EXISTS FOR (n:Source) ON (n.owner, n.recorded_at, n.id);
CREATE INDEX observation_by_source IF NOT EXISTS FOR (n:Observation) ON (n.owner, n.source_id, n.observed_at, n.id);
