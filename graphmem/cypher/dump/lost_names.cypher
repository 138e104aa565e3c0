// dump.lost_names: every version of a schema and other name of a type of an owner that contradicts one that counts, or
// repeats it.
//
// params  none
// returns lost: LIST<LIST>
// mode    read
// index   lost_fact_by_recorded (owner, recorded_at, id)
// cost    light
// There are as many as copies have registered apart under one name.
MATCH (lost:LostFact)
USING INDEX SEEK lost:LostFact(owner, recorded_at, id)
WHERE lost.owner = $owner AND lost.recorded_at IS NOT NULL AND lost.id IS NOT NULL
  AND lost.kind IN ['schema', 'repeated_schema', 'type_alias']
RETURN collect([lost.id, lost.name, lost.record, lost.kind, lost.winner]) AS lost
