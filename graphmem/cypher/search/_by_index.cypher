// The nearest meanings of the owner by the index, which holds those of all owners: so many are taken as should hold
// enough of this one's. Takes `types`, `total`, `every`, `asked` and `indexed`.
CALL (types, total, every, asked, indexed) {
  WITH types, total, every WHERE asked AND indexed AND every > 0
  WITH types, toInteger(CASE WHEN $deep > 0 THEN $deep ELSE 30 + 1.2 * $near * every / total END) AS deep
  CALL db.index.vector.queryNodes('meaning_vector', deep, $vector) YIELD node AS meaning, score
  WITH types, meaning, round(2 * score - 1, 6) AS similarity
  RETURN count(*) AS deepest, min(similarity) AS least, collect(CASE WHEN meaning.owner = $owner AND meaning.type IN types
    AND meaning.model = $model AND similarity >= $floor THEN [meaning.entity_id, similarity] END) AS seen
}
RETURN deepest, least, seen
