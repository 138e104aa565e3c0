// meaning.claim: set the one model that makes the vectors of all entities; the workers that use this model then make
// them.
//
// params  model: STRING
// returns before: STRING
// mode    write
// index   model_use
// cost    light
// sealing before: clear
// tenancy global: one model serves every owner
// `before` is the model that was set before.
MERGE (used:Model {use: 'meaning'})
WITH used, used.model AS before
SET used.model = $model
RETURN before
