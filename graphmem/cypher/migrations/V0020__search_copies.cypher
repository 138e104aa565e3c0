// What changed since a revision of the owner: copies of an owner's entities in memory follow it.
CREATE INDEX entity_changed IF NOT EXISTS FOR (n:Entity) ON (n.owner, n.changed, n.id);
// The same of vectors that the worker stores later than their texts; absent from all others.
CREATE INDEX meaning_changed IF NOT EXISTS FOR (n:Meaning) ON (n.owner, n.changed, n.entity_id);
