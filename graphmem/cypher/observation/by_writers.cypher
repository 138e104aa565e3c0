// observation.by_writers: those of some observations that some writers wrote, or recorded too.
//
// params  observation_ids: LIST<STRING>, writers: LIST<STRING>
// returns ids: LIST<STRING>
// mode    read
// index   observation_id
// cost    light
UNWIND $observation_ids AS id
MATCH (observation:Observation {id: id})
WHERE observation.owner = $owner AND <observation._by_writers>
RETURN collect(id) AS ids
