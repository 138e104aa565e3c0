// relationship.by_key: some live relationships by their keys, in the given order; relationships whose metadata does
// not fit are left out, and `truncated` says so.
//
// params  keys: LIST<STRING>
// returns relationships: LIST<LIST>, truncated: BOOLEAN
// mode    read
// index   relationship_key
// cost    light
UNWIND $keys AS key
MATCH (relationship:Relationship {key: key})
WHERE relationship.owner = $owner AND relationship.live
WITH collect(relationship) AS matches
WITH matches, [relationship IN matches | relationship.size] AS sizes
WITH matches, matches[..<entity._fitting>] AS fitting
RETURN [relationship IN fitting | <relationship._row>] AS relationships, size(fitting) < size(matches) AS truncated
