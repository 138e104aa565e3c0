// meaning.waiting: some entities without a vector of a model, each with the text to embed.
//
// params  model: STRING, only: STRING, limit: INTEGER
// returns waiting: LIST<LIST>
// mode    read
// index   model_use, meaning_by_model (model), entity_id
// cost    light
// tenancy global: the worker serves every owner; it sends the texts to the model and answers them to nobody
// No row if another model is in use. `only` is an owner; null means all owners.
MATCH (used:Model {use: 'meaning'})
WHERE used.model = $model
CALL () {
  MATCH (meaning:Meaning)
  USING INDEX SEEK meaning:Meaning(model)
  WHERE meaning.model < $model AND ($only IS NULL OR meaning.owner = $only)
  RETURN meaning LIMIT $limit
  UNION ALL
  MATCH (meaning:Meaning)
  USING INDEX SEEK meaning:Meaning(model)
  WHERE meaning.model > $model AND ($only IS NULL OR meaning.owner = $only)
  RETURN meaning LIMIT $limit
}
WITH DISTINCT meaning LIMIT $limit
MATCH (entity:Entity {id: meaning.entity_id})
WHERE entity.owner = meaning.owner
WITH meaning, entity ORDER BY entity.id
WITH collect([meaning, entity]) AS pairs, collect(entity.size) AS sizes
WITH pairs, <entity._fitting> AS fitting
RETURN [pair IN pairs[..fitting] | [pair[1].id, pair[0].owner, pair[0].of, pair[1].canonical_name, pair[1].fields, pair[1].values]]
  AS waiting
