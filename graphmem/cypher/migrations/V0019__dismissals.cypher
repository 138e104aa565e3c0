// Dismissals: pairs of entities that are two. A pair stands under its lesser id; both ends are sought.
CREATE CONSTRAINT dismissal_id IF NOT EXISTS FOR (n:Dismissal) REQUIRE n.id IS UNIQUE;
CREATE INDEX dismissal_by_a IF NOT EXISTS FOR (n:Dismissal) ON (n.owner, n.entity_a, n.entity_b);
CREATE INDEX dismissal_by_b IF NOT EXISTS FOR (n:Dismissal) ON (n.owner, n.entity_b, n.entity_a);
