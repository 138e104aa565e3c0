// Interpretations: runs that make entities of a source. Those that wait or run have a time at which they are due.
CREATE CONSTRAINT interpretation_id IF NOT EXISTS FOR (n:Interpretation) REQUIRE n.id IS UNIQUE;
CREATE INDEX interpretation_by_created IF NOT EXISTS FOR (n:Interpretation) ON (n.owner, n.created_at, n.id);
CREATE INDEX interpretation_by_source IF NOT EXISTS FOR (n:Interpretation) ON (n.owner, n.source_id, n.created_at, n.id);
CREATE INDEX interpretation_due IF NOT EXISTS FOR (n:Interpretation) ON (n.due_at);
CREATE INDEX observation_by_interpretation IF NOT EXISTS
FOR (n:Observation) ON (n.owner, n.interpretation_id, n.observed_at, n.id);
