// Entities of every state: what is deleted is absent from the index on `listed` and stands in this one.
CREATE INDEX entity_by_state IF NOT EXISTS FOR (n:Entity) ON (n.owner, n.type, n.live, n.id);
// Pages of relationships of an owner, of all types or of one.
CREATE INDEX relationship_by_owner IF NOT EXISTS FOR (n:Relationship) ON (n.owner, n.last_observation_at, n.id);
CREATE INDEX relationship_by_type IF NOT EXISTS FOR (n:Relationship) ON (n.owner, n.type, n.last_observation_at, n.id);
// What pages of observations recorded since some time stand on.
CREATE INDEX observation_by_recorded IF NOT EXISTS FOR (n:Observation) ON (n.owner, n.recorded_at, n.id, n.entity_id);
