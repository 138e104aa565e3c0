// The meanings of an owner's entities compared with `$vector` one by one: all of them where `indexed` is false, else
// those that are in no index yet. Takes `types`, `asked` and `indexed`. While few are fresh, the planner would read all
// that are, whosever they be: hence the hints.
CALL (types, asked, indexed) {
  WITH types WHERE asked AND NOT indexed
  UNWIND types AS type
  MATCH (meaning:Meaning)
  USING INDEX SEEK meaning:Meaning(owner, type, model)
  WHERE meaning.owner = $owner AND meaning.type = type AND meaning.model = $model
  RETURN meaning
  UNION ALL
  WITH types WHERE asked AND indexed
  UNWIND types AS type
  MATCH (meaning:Meaning)
  USING INDEX SEEK meaning:Meaning(fresh, owner)
  WHERE meaning.fresh = type AND meaning.owner = $owner AND meaning.model = $model
  RETURN meaning
}
WITH meaning.entity_id AS id, round(2 * vector.similarity.cosine(meaning.vector, $vector) - 1, 6) AS similarity
WITH count(*) AS compared, collect(CASE WHEN similarity >= $floor THEN [id, similarity] END) AS near
CALL (near) {
  UNWIND near AS one
  WITH one ORDER BY one[1] DESC, one[0] LIMIT $near
  RETURN collect(one) AS beside
}
RETURN compared, beside
