// entity.find: the live entities that one normalised identifier names, the strongest kind of identifier first; what
// is merged is found as what it is merged into.
//
// params  kinds: LIST<STRING>, value: STRING, types: LIST<STRING>, limit: INTEGER
// returns found: LIST<LIST>, total: INTEGER
// mode    read
// index   identifier_value (owner, kind, value): one seek for each kind, also on a miss
// cost    light
// `kinds` is in the order of their strength. No types means any.
MATCH (identifier:Identifier)
WHERE identifier.owner = $owner AND identifier.kind IN $kinds AND identifier.value = $value
MATCH (identifier)-[:IDENTIFIES]->(named:Entity)
WHERE named.owner = $owner
MATCH (named)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND entity.live AND (size($types) = 0 OR entity.type IN $types)
WITH entity, min([i IN range(0, size($kinds) - 1) WHERE $kinds[i] = identifier.kind][0]) AS strength
ORDER BY strength, entity.id
WITH collect([entity, strength]) AS named
WITH named, [pair IN named[..$limit] | pair[0]] AS found
WITH named, found, [one IN found | one.size] AS sizes
WITH named, found, <entity._fitting> AS fitting
CALL (named, found, fitting) {
  UNWIND named[..CASE WHEN fitting < size(found) THEN fitting ELSE size(found) END] AS pair
  WITH pair[0] AS entity, pair[1] AS strength
  RETURN collect([<entity._row>, strength]) AS page
}
RETURN page AS found, size(named) AS total
