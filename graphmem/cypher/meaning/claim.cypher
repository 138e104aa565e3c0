// meaning.claim: have all entities be given vectors of a model, by the workers that use it.
//
// params  model: STRING
// returns before: STRING
// mode    write
// index   model_use
// cost    light
// tenancy global: one model serves every owner, as vectors of several cannot stand in one index
MERGE (used:Model {use: 'meaning'})
WITH used, used.model AS before
SET used.model = $model
RETURN before
