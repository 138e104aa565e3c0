// passages.texts: the text of some passages of an owner's sources, each with its place; a row for each source that is there.
//
// params  sources: LIST<LIST>
// returns source_id: STRING, texts: LIST<LIST>
// mode    read
// index   passages_source
// cost    light
// One of `sources` is the id of a source, and the numbers of passages from 0. One of `texts` is a number, the text, and the
// four numbers of its place (passages/set.cypher); both are null where there is none any more. Each source has one row that
// nothing collects: Neo4j counts all texts of a source for each row that has one of them.
UNWIND $sources AS each
MATCH (passages:Passages {source_id: each[0]})
WHERE passages.owner = $owner
RETURN passages.source_id AS source_id, [number IN each[1] |
  [number, passages.texts[number], passages.places[number * 4..number * 4 + 4]]] AS texts
