// meaning.waiting: some entities without a vector of a model, each with the text to embed.
//
// params  model: STRING, only: STRING, limit: INTEGER
// returns waiting: LIST<LIST>
// mode    read
// index   model_use, meaning_by_model (model), entity_id
// cost    light
// tenancy global: the worker serves every owner; it sends the texts to the model and answers them to nobody
// No row if another model is in use. `only` is an owner; null means all owners. Of eight times as many some are chosen at
// random: the workers of several processes then make the vectors of others, and seldom the same.
MATCH (used:Model {use: 'meaning'})
WHERE used.model = $model
CALL () {
  MATCH (meaning:Meaning)
  USING INDEX SEEK meaning:Meaning(model)
  WHERE meaning.model < $model AND ($only IS NULL OR meaning.owner = $only)
  RETURN meaning LIMIT 8 * $limit
  UNION ALL
  MATCH (meaning:Meaning)
  USING INDEX SEEK meaning:Meaning(model)
  WHERE meaning.model > $model AND ($only IS NULL OR meaning.owner = $only)
  RETURN meaning LIMIT 8 * $limit
}
WITH DISTINCT meaning
WITH meaning ORDER BY rand() LIMIT $limit
MATCH (entity:Entity {id: meaning.entity_id})
WHERE entity.owner = meaning.owner
WITH meaning, entity ORDER BY entity.id
WITH collect([meaning, entity]) AS pairs, collect(entity.size) AS sizes
WITH pairs, <entity._fitting> AS fitting
RETURN [pair IN pairs[..fitting] | [pair[1].id, pair[0].owner, pair[0].of, pair[1].canonical_name, pair[1].fields, pair[1].values]]
  AS waiting
