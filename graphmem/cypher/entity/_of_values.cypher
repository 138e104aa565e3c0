// The candidates of index entries, in the order of the entries. Takes `entries`, a list of [id, key].
UNWIND entries AS entry
MATCH (entity:Entity {id: entry[0]})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL
RETURN collect(<entity._candidate>) AS candidates, collect(entry[1]) AS keys
