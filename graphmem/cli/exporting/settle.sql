-- Observations of merged entities belong to what these are merged into. What is not exported is dropped.
WITH RECURSIVE root(id, into_id) AS (
  SELECT id, into_id FROM merged
  UNION SELECT root.id, merged.into_id FROM root JOIN merged ON merged.id = root.into_id)
UPDATE observation SET entity_id = root.into_id FROM root
WHERE root.id = observation.entity_id AND root.into_id IN (SELECT id FROM entity);
DELETE FROM observation WHERE entity_id NOT IN (SELECT id FROM entity);
DELETE FROM relationship WHERE source NOT IN (SELECT id FROM entity)
  OR target NOT IN (SELECT id FROM entity);
CREATE INDEX by_entity ON observation (entity_id, observed_at, id);
CREATE INDEX by_source ON relationship (source, type, target);
