// search.find: what identifiers name, what says the words and what means the same, each best first, and one page of all
// of them together by reciprocal rank.
//
// params  pairs: LIST<LIST>, kinds: LIST<STRING>, types: LIST<STRING>, lucene: STRING, patterns: LIST<STRING>,
//         reach: INTEGER, vector: LIST<FLOAT>, model: STRING, floor: FLOAT, near: INTEGER, deep: INTEGER, few: INTEGER,
//         most: INTEGER, alone: BOOLEAN, weights: LIST<FLOAT>, offset: INTEGER, limit: INTEGER
// returns page: LIST<LIST>, truncated: BOOLEAN, ranked: LIST<LIST>, exact: LIST<LIST>, text: LIST<LIST>,
//         meaning: LIST<LIST>, sight: LIST
// mode    read
// index   identifier_value, entity_words, count_type, meaning_by_type (owner, type, model), meaning_fresh (fresh, owner),
//         meaning_vector, entity_id
// cost    heavy
// Pairs and kinds as in entity.find. No `lucene` (or no `vector`): words (or meaning) are not asked for. `alone`: meaning
// is asked only where no word matches. Up to `few` entities are compared one by one; of more, the `deep` nearest ones of
// all owners are taken from the index, and of what is not in it yet, `most` are compared. `near` bounds what meaning
// answers. `sight` says what was compared: how many of how many, whether by the index, the least similarity that it
// reached, and whether some entities were not compared: they have no vector of the model yet, or too many are new.
CALL () {
  CALL () {
    <search._exact>
  }
  WITH entity, strength ORDER BY strength, entity.id LIMIT $reach
  RETURN collect([entity.id, strength]) AS exact
}
CALL () {
  CALL () {
    <search._text>
  }
  RETURN collect([entity.id, score]) AS text
}
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IS NOT NULL
    AND (size($types) = 0 OR counted.type IN $types)
  RETURN collect(counted.type) AS types, sum(counted.total) AS total
}
CALL () {
  MATCH (every:Vector)
  RETURN count(every) AS every
}
WITH exact, text, types, total, every, $vector IS NOT NULL AND NOT ($alone AND size(text) > 0) AS asked
WITH exact, text, types, total, asked, every, total > $few AND total * total > 5 * $near * every AS indexed
CALL (types, asked, indexed) {
  <search._one_by_one>
}
CALL (types, total, every, asked, indexed) {
  <search._by_index>
}
CALL (types) {
  UNWIND types AS type
  RETURN collect(EXISTS {
    MATCH (old:Meaning)
    USING INDEX SEEK old:Meaning(owner, type, model)
    WHERE old.owner = $owner AND old.type = type AND old.model < $model
  } OR EXISTS {
    MATCH (old:Meaning)
    USING INDEX SEEK old:Meaning(owner, type, model)
    WHERE old.owner = $owner AND old.type = type AND old.model > $model
  }) AS olds
}
CALL (beside, seen) {
  UNWIND beside + seen AS one
  WITH one[0] AS id, max(one[1]) AS similarity
  WITH id, similarity ORDER BY similarity DESC, id LIMIT $near
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner AND entity.listed IS NOT NULL
  WITH id, similarity ORDER BY similarity DESC, id
  RETURN collect([id, similarity]) AS meaning
}
WITH exact, text, meaning,
  [asked, total, CASE WHEN indexed AND waiting > $most THEN $most ELSE waiting END, indexed, deepest, least,
    any(old IN olds WHERE old) OR asked AND CASE WHEN indexed THEN waiting > $most ELSE waiting < total END] AS sight
CALL (exact, text, meaning) {
  WITH [exact, text, meaning] AS strategies
  UNWIND range(0, 2) AS which
  UNWIND range(0, size(strategies[which]) - 1) AS place
  WITH strategies[which][place][0] AS id, which, place
  WITH id, collect([which, place + 1]) AS ranks, sum($weights[which] / (61 + place)) AS points
  WITH id, ranks, round(points, 9) AS points ORDER BY points DESC, id
  RETURN collect([id, points, ranks]) AS ranked
}
CALL (ranked) {
  UNWIND ranked[$offset..$offset + $limit] AS one
  MATCH (entity:Entity {id: one[0]})
  WHERE entity.owner = $owner
  RETURN collect(entity) AS found
}
WITH *, [one IN found | one.size] AS sizes
WITH *, <entity._fitting> AS fitting
<entity._rows>
RETURN page, size(found) > fitting AS truncated, ranked, exact, text, meaning, sight
