// schema.sample: some types of an owner, each with its newest observations, whose values are cut short.
//
// params  entity_type: STRING, types: INTEGER, limit: INTEGER, cut: INTEGER
// returns types: LIST<LIST>
// mode    read
// index   schema_head (owner, head), observation_by_type (owner, entity_type, observed_at, id), entity_id
// cost    heavy
// `types` limits the number of types, `limit` the observations of each type, and `cut` the characters of each value.
MATCH (schema:Schema)
USING INDEX SEEK schema:Schema(owner, head)
WHERE schema.owner = $owner AND schema.head IS NOT NULL AND ($entity_type IS NULL OR schema.head = $entity_type)
WITH schema ORDER BY schema.owner, schema.head LIMIT $types
CALL (schema) {
  MATCH (observation:Observation)
  USING INDEX SEEK observation:Observation(owner, entity_type, observed_at, id)
  WHERE observation.owner = $owner AND observation.entity_type = schema.head AND observation.observed_at IS NOT NULL
    AND observation.id IS NOT NULL
  WITH observation
  ORDER BY observation.owner DESC, observation.entity_type DESC, observation.observed_at DESC, observation.id DESC
  LIMIT $limit
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(id)
  WHERE entity.id = coalesce(observation.moved_to, observation.entity_id) AND entity.live AND <observation._counts_now> AND observation.kind IN <fact._value_kinds>
  WITH observation
  ORDER BY observation.owner DESC, observation.entity_type DESC, observation.observed_at DESC, observation.id DESC
  WITH collect(observation) AS observations
  WITH observations, [observation IN observations | 100 * size(observation.fields)] AS sizes
  WITH observations, <entity._fitting> AS fitting
  CALL (observations, fitting) {
    UNWIND observations[..fitting] AS observation
    RETURN collect(<schema._sampled_observation>) AS sample
  }
  RETURN sample
}
RETURN collect([schema.head, schema.document, sample]) AS types
