// The owner's nearest vectors by the vector index, which holds those of all owners. Takes `types`, `total`,
// `all_vectors`, `by_meaning` and `indexed`. The index follows a graph of neighbours, and misses some vectors that
// are nearly alike. If a query asks for at least as many neighbours as a part of the index holds, the index compares
// all vectors of that part instead. A part also holds deleted vectors: hence twice as many. This costs 0.1 s of a
// core for 100,000 vectors. The rows come sorted, and only the first `$index_rows` are read. `least` is the least
// similarity among them, of any owner.
CALL (types, total, all_vectors, by_meaning, indexed) {
  WITH types, CASE WHEN total <= $exact_limit THEN 2 * all_vectors + 1000 ELSE $index_rows END AS neighbours
  WHERE by_meaning AND indexed
  CALL db.index.vector.queryNodes('meaning_vector', neighbours, $vector) YIELD node AS meaning, score
  WITH types, meaning, round(2 * score - 1, 6) AS similarity LIMIT $index_rows
  RETURN count(*) AS index_rows, min(similarity) AS least, collect(CASE WHEN similarity >= $floor
    AND meaning.owner = $owner AND meaning.type IN types AND meaning.model = $model
    THEN [meaning.entity_id, similarity] END) AS near
}
RETURN index_rows, least, near
