// schema.sample_of_entity: the type of an entity, with the newest observations of the entity, whose values are cut
// short; no row if it is not the owner's, or is deleted.
//
// params  entity_id: STRING, limit: INTEGER, cut: INTEGER
// returns type: STRING, document: STRING, sample: LIST<LIST>
// mode    read
// index   entity_id, schema_head (owner, head), observed_in_time (home, at), read backwards
// cost    heavy
MATCH (entity:Entity {id: $entity_id})
WHERE entity.owner = $owner AND entity.live
OPTIONAL MATCH (schema:Schema)
USING INDEX SEEK schema:Schema(owner, head)
WHERE schema.owner = $owner AND schema.head = entity.type
CALL () {
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = $entity_id AND seen.at IS NOT NULL AND <observation._seen_now>
  WITH seen, observation
  ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $limit
  WITH observation WHERE observation.kind IN <fact._value_kinds>
  WITH collect(observation) AS observations
  WITH observations, [observation IN observations | 100 * size(observation.fields)] AS sizes
  WITH observations, <entity._fitting> AS fitting
  CALL (observations, fitting) {
    UNWIND observations[..fitting] AS observation
    RETURN collect(<schema._sampled_observation>) AS sample
  }
  RETURN sample
}
RETURN entity.type AS type, schema.document AS document, sample
