// relationship.neighbourhood: an entity, or the survivor that it is merged into, with one page of its relationships,
// newest first, the entities at their other ends, the sources of its newest observations and its latest events; no row
// if it is not the owner's, or is deleted.
//
// params  entity_id: STRING, hub: INTEGER, expanded: BOOLEAN, offset: INTEGER, limit: INTEGER, observations: INTEGER,
//         events: INTEGER
// returns entity: LIST, page: LIST<LIST>, others: LIST<LIST>, total: INTEGER, sources: LIST<STRING>,
//         events: LIST<LIST>, whole: BOOLEAN
// mode    read
// index   entity_id, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id),
//         observed_in_time (home, at), read backwards, schema_head
// cost    light
// All relationships of the entity are read for the total. An entity with more than `hub`, deleted ones included, is not
// `whole`: the caller asks relationship.of_entity, source.of_entity and event.of_entity. `observations` is the number
// of observations whose sources are read. The page ends before `limit` as that of relationship.of_entity does.
MATCH (requested_entity:Entity {id: $entity_id})
WHERE requested_entity.owner = $owner
MATCH (requested_entity)-[:MERGED_INTO*0..]->(origin:Entity)
WHERE origin.merged_into IS NULL AND origin.live
WITH origin,
  COUNT { (origin)--() } - COUNT { (origin)-[:HAS_EVENT]->() } - COUNT { (origin)-[:HAS_VALUE]->() } <= $hub AS whole
CALL (origin, whole) {
  CALL (origin, whole) {
    WITH origin WHERE whole
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.source = origin.id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship, relationship.target AS other
    UNION ALL
    WITH origin WHERE whole
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.target = origin.id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship, relationship.source AS other
  }
  WITH relationship, other
  WHERE relationship.shown_as IS NULL AND relationship.live
  MATCH (entity:Entity {id: other})
  WHERE entity.live
  WITH relationship, entity ORDER BY relationship.last_observation_at DESC, relationship.id DESC
  RETURN collect(relationship) AS matches, collect([entity]) AS far_ends
}
CALL (matches, far_ends) {
  WITH matches[$offset..$offset + $limit + 1] AS relationships, far_ends[$offset..$offset + $limit + 1] AS ends
  WITH relationships, ends, [i IN range(0, size(relationships) - 1) |
    relationships[i].size + CASE WHEN $expanded THEN ends[i][0].size ELSE 0 END] AS sizes
  <relationship._page>
}
CALL () {
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = $entity_id AND seen.at IS NOT NULL AND <observation._seen_now>
  WITH seen, observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $observations
  MATCH (observation)-[:FROM_SOURCE]->(source:Source)
  WHERE source.owner = $owner
  WITH DISTINCT source.id AS id ORDER BY id
  RETURN collect(id) AS sources
}
CALL (origin) {
  WITH origin AS entity
  MATCH (entity)-[:HAS_EVENT]->(event:TimelineEvent)
  WHERE event.listed_at IS NOT NULL
  WITH entity, event ORDER BY event.listed_at DESC, event.id DESC LIMIT $events
  MATCH (observation:Observation {id: event.observation_id})
  RETURN collect(<event._row>) AS events
}
CALL (origin) {
  WITH origin AS entity
  RETURN <entity._row> AS entity
}
RETURN entity, page, others, size(matches) AS total, sources, events, whole
