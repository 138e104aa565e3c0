// Copies of an owner on other machines, and the facts that contradict others and do not count. Copies that are due are found
// by the time.
CREATE CONSTRAINT copy_id IF NOT EXISTS FOR (n:Copy) REQUIRE n.id IS UNIQUE;
CREATE INDEX copy_due IF NOT EXISTS FOR (n:Copy) ON (n.due_at);
CREATE CONSTRAINT lost_fact_id IF NOT EXISTS FOR (n:LostFact) REQUIRE n.id IS UNIQUE;
CREATE INDEX lost_fact_by_recorded IF NOT EXISTS FOR (n:LostFact) ON (n.owner, n.recorded_at, n.id);
CREATE INDEX lost_fact_by_transaction IF NOT EXISTS FOR (n:LostFact) ON (n.owner, n.transaction);
