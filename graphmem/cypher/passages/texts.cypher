// passages.texts: the text of some passages of an owner's sources, in the order that is asked for; null where there is none
// any more.
//
// params  places: LIST<LIST>
// returns texts: LIST<LIST>
// mode    read
// index   passages_source
// cost    light
// A place is the id of a source, and the number of a passage from 0.
UNWIND range(0, size($places) - 1) AS i
OPTIONAL MATCH (passages:Passages {source_id: $places[i][0]})
WHERE passages.owner = $owner
WITH i, passages.texts[$places[i][1]] AS text ORDER BY i
RETURN collect([text]) AS texts
