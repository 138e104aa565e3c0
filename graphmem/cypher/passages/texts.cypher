// passages.texts: the text of some passages of an owner's sources, each with its place, in the order that is asked for; null
// where there is none any more.
//
// params  places: LIST<LIST>
// returns texts: LIST<LIST>
// mode    read
// index   passages_source
// cost    light
// One of `places` is the id of a source, and the number of a passage from 0. The place of a text has four numbers
// (passages/set.cypher).
UNWIND range(0, size($places) - 1) AS i
OPTIONAL MATCH (passages:Passages {source_id: $places[i][0]})
WHERE passages.owner = $owner
WITH i, passages, $places[i][1] AS number ORDER BY i
RETURN collect([head([placed IN [[passages.source_id, passages.texts[number]]] | <entity._placed>]),
  passages.places[number * 4..number * 4 + 4]]) AS texts
