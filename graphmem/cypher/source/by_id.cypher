// source.by_id: some of an owner's sources, by id.
//
// params  ids: LIST<STRING>
// returns sources: LIST<LIST>
// mode    read
// index   source_id
// cost    light
UNWIND $ids AS id
MATCH (source:Source {id: id})
WHERE source.owner = $owner
WITH source ORDER BY source.id
RETURN collect(<source._row>) AS sources
