// The vectors of an owner's entities, compared with `$vector` one by one: all of them where `indexed` is false, else
// at most `$unindexed_limit` of those outside the index; or those of `$among` alone, if it is not null. Takes `types`,
// `by_meaning` and `indexed`. The hints keep the planner from reading the vectors of all owners while few of them are
// outside the index. No list is carried along where rows are sorted: each row would count with the whole list against
// the memory of the transaction.
CALL (types, by_meaning, indexed) {
  CALL (types, by_meaning, indexed) {
    UNWIND CASE WHEN by_meaning AND NOT indexed AND $among IS NULL THEN types ELSE [] END AS type
    MATCH (meaning:Meaning)
    USING INDEX SEEK meaning:Meaning(owner, type, model)
    WHERE meaning.owner = $owner AND meaning.type = type AND meaning.model = $model
    RETURN meaning
    UNION ALL
    UNWIND CASE WHEN by_meaning AND indexed THEN types ELSE [] END AS type
    MATCH (meaning:Meaning)
    USING INDEX SEEK meaning:Meaning(fresh, owner)
    WHERE meaning.fresh = type AND meaning.owner = $owner AND meaning.model = $model
    RETURN meaning LIMIT $unindexed_limit
    UNION ALL
    UNWIND CASE WHEN by_meaning THEN coalesce($among, []) ELSE [] END AS id
    MATCH (meaning:Meaning {entity_id: id})
    WHERE meaning.owner = $owner AND meaning.type IN types AND meaning.model = $model
    RETURN meaning
  }
  WITH meaning.entity_id AS id, round(2 * vector.similarity.cosine(meaning.vector, $vector) - 1, 6) AS similarity
  WITH id, similarity WHERE similarity >= $floor
  WITH id, similarity ORDER BY similarity DESC, id LIMIT $meaning_limit
  RETURN collect([id, similarity]) AS compared
}
CALL (types, by_meaning, indexed) {
  CALL (types, by_meaning, indexed) {
    UNWIND CASE WHEN by_meaning AND NOT indexed AND $among IS NULL THEN types ELSE [] END AS type
    MATCH (meaning:Meaning)
    USING INDEX SEEK meaning:Meaning(owner, type, model)
    WHERE meaning.owner = $owner AND meaning.type = type AND meaning.model = $model
    RETURN count(meaning) AS vectors
    UNION ALL
    UNWIND CASE WHEN by_meaning AND indexed THEN types ELSE [] END AS type
    MATCH (meaning:Meaning)
    USING INDEX SEEK meaning:Meaning(fresh, owner)
    WHERE meaning.fresh = type AND meaning.owner = $owner
    RETURN count(meaning) AS vectors
    UNION ALL
    UNWIND CASE WHEN by_meaning THEN coalesce($among, []) ELSE [] END AS id
    MATCH (meaning:Meaning {entity_id: id})
    WHERE meaning.owner = $owner AND meaning.type IN types AND meaning.model = $model
    RETURN count(meaning) AS vectors
  }
  RETURN sum(vectors) AS waiting
}
RETURN compared, waiting
