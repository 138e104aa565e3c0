// meaning.claim: make a model the one whose vectors all entities get; the workers that use it make them.
//
// params  model: STRING
// returns before: STRING
// mode    write
// index   model_use
// cost    light
// tenancy global: one model serves every owner, because one index cannot hold vectors of several models
MERGE (used:Model {use: 'meaning'})
WITH used, used.model AS before
SET used.model = $model
RETURN before
