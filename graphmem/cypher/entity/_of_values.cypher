// The candidates that index entries named, in their order. Takes `entries`, [id, key].
UNWIND entries AS entry
MATCH (entity:Entity {id: entry[0]})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL
RETURN collect(<entity._candidate>) AS found, collect(entry[1]) AS keys
