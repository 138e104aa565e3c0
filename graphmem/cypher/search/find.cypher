// search.find: the entities that identifiers name, that contain the words, and that mean the same, each list best
// first; and one page of the three lists, fused by reciprocal rank.
//
// params  pairs: LIST<LIST>, kinds: LIST<STRING>, types: LIST<STRING>, lucene: STRING, patterns: LIST<STRING>,
//         among: LIST<STRING>, list_limit: INTEGER, vector: LIST<FLOAT>, model: STRING, floor: FLOAT,
//         meaning_limit: INTEGER, one_by_one_limit: INTEGER, exact_limit: INTEGER, unindexed_limit: INTEGER,
//         index_share: INTEGER, index_rows: INTEGER, only_without_words: BOOLEAN, weights: LIST<FLOAT>,
//         offset: INTEGER, limit: INTEGER
// returns page: LIST<LIST>, truncated: BOOLEAN, ranked: LIST<LIST>, exact: LIST<LIST>, text: LIST<LIST>,
//         meaning: LIST<LIST>, coverage: LIST
// mode    read
// index   identifier_value, entity_words, count_type, meaning_by_type (owner, type, model), meaning_fresh (fresh,
//         owner), meaning_vector, meaning_entity, entity_id
// cost    heavy
// Pairs and kinds are those of entity.find. If `lucene` is null, words are not searched; if `vector` is null, meaning
// is not. With `only_without_words`, meaning is searched only if no entity contains the words. Only entities of `among`
// are answered, and each of them is compared; if it is null, all are.
//
// Meaning either compares an owner's entities one by one (20 microseconds each) or reads the vector index (1
// microsecond for each vector of any owner). It reads the index if the owner has more than `one_by_one_limit`
// entities and at least one of `index_share` vectors. Both ways answer the same up to `exact_limit` entities; beyond,
// the index may miss some of the nearest vectors.
//
// `coverage` says what was compared (VectorCoverage in graphmem/search/search_results.py): whether meaning was
// searched; the number of entities; how many of them were compared one by one; whether the index was read; how many
// of its rows; the least similarity of these; and whether some entities could not be compared, because they have no
// vector of the model yet, or because more than `unindexed_limit` are outside the index.
CALL () {
  CALL () {
    <search._exact>
  }
  WITH entity, strength
  WHERE $among IS NULL OR entity.id IN $among
  WITH entity, strength ORDER BY strength, entity.id LIMIT $list_limit
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
  MATCH (vector:Vector)
  RETURN count(vector) AS all_vectors
}
WITH exact, text, types, total, all_vectors, $vector IS NOT NULL AND NOT ($only_without_words AND size(text) > 0) AS by_meaning
WITH exact, text, types, total, by_meaning, all_vectors,
  $among IS NULL AND total > $one_by_one_limit AND all_vectors > 0
    AND (total * $index_share >= all_vectors OR total > $exact_limit) AS indexed
CALL (types, by_meaning, indexed) {
  <search._one_by_one>
}
CALL (types, total, all_vectors, by_meaning, indexed) {
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
CALL (compared, near) {
  UNWIND compared + near AS pair
  WITH pair[0] AS id, max(pair[1]) AS similarity
  WITH id, similarity ORDER BY similarity DESC, id LIMIT $meaning_limit
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner AND entity.listed IS NOT NULL
  WITH id, similarity ORDER BY similarity DESC, id
  RETURN collect([id, similarity]) AS meaning
}
WITH exact, text, meaning,
  [by_meaning, total, CASE WHEN indexed AND waiting > $unindexed_limit THEN $unindexed_limit ELSE waiting END, indexed,
    index_rows, least, any(old IN olds WHERE old)
      OR by_meaning AND CASE WHEN indexed THEN waiting > $unindexed_limit
        ELSE $among IS NULL AND waiting < total END] AS coverage
CALL (exact, text, meaning) {
  WITH [exact, text, meaning] AS strategies
  UNWIND range(0, 2) AS strategy
  UNWIND range(0, size(strategies[strategy]) - 1) AS place
  WITH strategies[strategy][place][0] AS id, strategy, place
  WITH id, collect([strategy, place + 1]) AS ranks, sum($weights[strategy] / (61 + place)) AS points
  WITH id, ranks, round(points, 9) AS points ORDER BY points DESC, id
  RETURN collect([id, points, ranks]) AS ranked
}
CALL (ranked) {
  UNWIND ranked[$offset..$offset + $limit] AS ranking
  MATCH (entity:Entity {id: ranking[0]})
  WHERE entity.owner = $owner
  RETURN collect(entity) AS entities
}
WITH *, [entity IN entities | entity.size] AS sizes
WITH *, <entity._fitting> AS fitting
<entity._rows>
RETURN page, size(entities) > fitting AS truncated, ranked, exact, text, meaning, coverage
