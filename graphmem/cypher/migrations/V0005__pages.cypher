// Pages of entities in the orders that can be asked for, of those that live and are not merged (`listed`).
CREATE INDEX entity_by_name IF NOT EXISTS FOR (n:Entity) ON (n.owner, n.listed, n.name_key, n.id);
CREATE INDEX entity_by_observed IF NOT EXISTS FOR (n:Entity) ON (n.owner, n.listed, n.last_observation_at, n.id);
CREATE INDEX entity_by_count IF NOT EXISTS FOR (n:Entity) ON (n.owner, n.listed, n.observation_count, n.id);
CREATE INDEX entity_by_created IF NOT EXISTS FOR (n:Entity) ON (n.owner, n.listed, n.created_at, n.id);
CREATE INDEX entity_by_updated IF NOT EXISTS FOR (n:Entity) ON (n.owner, n.listed, n.updated_at, n.id);
// `unlisted` is the type of an entity that is deleted or merged, and absent from the others.
CREATE INDEX entity_unlisted IF NOT EXISTS FOR (n:Entity) ON (n.owner, n.unlisted, n.id);
// The values of fields that a registered schema declares filterable, of entities that live and are not merged.
CREATE INDEX field_value IF NOT EXISTS FOR (n:FieldValue) ON (n.owner, n.type, n.field, n.value, n.entity_id);
