// entity.find: the live entities that one normalised identifier names, and by which kinds of identifier.
//
// params  kinds: LIST<STRING>, value: STRING, types: LIST<STRING>, limit: INTEGER
// returns found: LIST<LIST>
// mode    read
// index   identifier_value (owner, kind, value): one seek for each kind, also on a miss
// cost    light
// No types means any.
MATCH (identifier:Identifier)
WHERE identifier.owner = $owner AND identifier.kind IN $kinds AND identifier.value = $value
MATCH (identifier)-[:IDENTIFIES]->(entity:Entity)
WHERE entity.owner = $owner AND entity.listed IS NOT NULL AND (size($types) = 0 OR entity.type IN $types)
WITH entity, collect(DISTINCT identifier.kind) AS kinds
ORDER BY entity.id LIMIT $limit
RETURN collect([<entity._row>, kinds]) AS found
