// source.by_name: the sources of an owner that were stored under a name.
//
// params  name: STRING, limit: INTEGER
// returns sources: LIST<LIST>
// mode    read
// index   source_by_recorded (owner, recorded_at, id)
// cost    heavy
MATCH (source:Source)
USING INDEX SEEK source:Source(owner, recorded_at, id)
WHERE source.owner = $owner AND source.recorded_at IS NOT NULL AND source.id IS NOT NULL
  AND EXISTS { MATCH (source)<-[stored:stored]-(:Transaction) WHERE stored.name = $name }
WITH source ORDER BY source.recorded_at DESC, source.id DESC LIMIT $limit
RETURN collect(<source._row>) AS sources
