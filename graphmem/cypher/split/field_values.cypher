// split.field_values: the observations of an entity that give a field a value, and count, each with the value.
//
// params  entity_ids: LIST<STRING>, field: STRING
// returns values: LIST<LIST>
// mode    read
// index   observed_in_time (home, at)
// cost    heavy
// `entity_ids` are the entity and its members.
UNWIND $entity_ids AS subject_id
MATCH ()-[seen:OBSERVED]->(observation:Observation)
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject_id AND seen.at IS NOT NULL AND <observation._seen_now>
  AND seen.kind IN <fact._value_kinds> AND observation.owner = $owner AND $field IN observation.fields
RETURN collect([observation.id, head([lists IN [[observation.fields, observation.values]] |
  head([i IN range(0, size(lists[0]) - 1) WHERE lists[0][i] = $field |
    head([placed IN [[observation.id + ' ' + $field, lists[1][i]]] | <entity._placed>])])]), $field]) AS values
