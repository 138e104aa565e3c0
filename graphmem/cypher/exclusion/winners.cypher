// exclusion.winners: the files that some observations come from.
//
// params  observation_ids: LIST<STRING>
// returns winners: LIST<LIST>
// mode    read
// index   observation_id
// cost    light
UNWIND $observation_ids AS id
MATCH (observation:Observation {id: id})
WHERE observation.owner = $owner
RETURN collect([observation.id, observation.source_id]) AS winners
