// Exclusions: from when on the observations of a subject do not count, or count again.
CREATE CONSTRAINT exclusion_id IF NOT EXISTS FOR (n:Exclusion) REQUIRE n.id IS UNIQUE;
CREATE INDEX exclusion_by_subject IF NOT EXISTS FOR (n:Exclusion) ON (n.owner, n.subject, n.recorded_at, n.id);
// What waits to be folded again because other observations count. `refold` is absent from everything else.
CREATE INDEX entity_refold IF NOT EXISTS FOR (n:Entity) ON (n.owner, n.refold, n.id);
CREATE INDEX relationship_refold IF NOT EXISTS FOR (n:Relationship) ON (n.owner, n.refold, n.id);
CREATE INDEX owner_refolding IF NOT EXISTS FOR (n:Owner) ON (n.refolding);
