// entity.corrections: the corrections of some entities that count, each with its transaction.
//
// params  entity_ids: LIST<STRING>
// returns corrections: LIST<LIST>
// mode    read
// index   observed_in_time (home, at)
// cost    light
// A row is [observation id, entity id, its type, observed_at, the names of its fields, transaction id].
UNWIND $entity_ids AS entity_id
MATCH ()-[seen:OBSERVED]->(observation:Observation)
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = entity_id AND seen.at IS NOT NULL AND seen.kind = 'correction' AND observation.owner = $owner
  AND <observation._seen_now>
MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
RETURN collect([observation.id, entity_id, observation.entity_type, observation.observed_at, observation.fields,
  transaction.id]) AS corrections
