// observation.by_id: some observations by their ids, with their transactions.
//
// params  observation_ids: LIST<STRING>, include_deleted: BOOLEAN, include_excluded: BOOLEAN, writers: LIST<STRING>
// returns observations: LIST<LIST>
// mode    read
// index   observation_id, entity_id
// cost    light
// forms   written
UNWIND $observation_ids AS id
MATCH (observation:Observation {id: id})
WHERE observation.owner = $owner
<observation._live>
MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
RETURN collect(<observation._row>) AS observations
