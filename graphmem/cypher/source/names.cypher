// source.names: the names under which an owner's sources were stored, of a sealed instance, which compares no names in the
// database.
//
// params  none
// returns sources: LIST<LIST>
// mode    read
// index   source_by_recorded (owner, recorded_at, id)
// cost    heavy
// A row is a source and its names; the source that was stored first last comes first.
MATCH (source:Source)
USING INDEX SEEK source:Source(owner, recorded_at, id)
WHERE source.owner = $owner AND source.recorded_at IS NOT NULL AND source.id IS NOT NULL
WITH source ORDER BY source.recorded_at DESC, source.id DESC
RETURN collect([source.id, COLLECT {
  MATCH (source)<-[stored:stored]-(transaction:Transaction)
  WHERE stored.name IS NOT NULL
  RETURN <source._stored_name>
}]) AS sources
