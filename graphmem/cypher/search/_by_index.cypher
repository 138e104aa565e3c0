// The owner's nearest meanings by the vector index, which holds those of all owners. Takes `types`, `total`, `every`,
// `asked` and `indexed`. The index follows a graph of neighbours, and among near-twins it misses vectors. Asked for at
// least as many neighbours as a part of it holds, it compares all of the part instead. A part also holds vectors that
// were deleted: hence twice as many. That costs 0.1 s of a core for 100,000 vectors. The rows are sorted, and only the
// first `$index_rows` are read. `least` is the least similarity among these, whosever they are.
CALL (types, total, every, asked, indexed) {
  WITH types, CASE WHEN total <= $exact_limit THEN 2 * every + 1000 ELSE $index_rows END AS neighbours
  WHERE asked AND indexed
  CALL db.index.vector.queryNodes('meaning_vector', neighbours, $vector) YIELD node AS meaning, score
  WITH types, meaning, round(2 * score - 1, 6) AS similarity LIMIT $index_rows
  RETURN count(*) AS index_rows, min(similarity) AS least, collect(CASE WHEN similarity >= $floor
    AND meaning.owner = $owner AND meaning.type IN types AND meaning.model = $model
    THEN [meaning.entity_id, similarity] END) AS near
}
RETURN index_rows, least, near
