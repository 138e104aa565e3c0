// The entities that may contain some words, as `entity`: those of `$among`, or else at most `$list_limit` that the index
// of words proposes for `$lucene`. Without `$lucene` there are none. Entities of other owners may be among them. The
// index is updated after a commit: the query waits until every earlier commit is in it.
CALL () {
  WITH $lucene AS lucene WHERE lucene IS NOT NULL AND $among IS NULL
  CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()
  CALL db.index.fulltext.queryNodes('entity_words', lucene, {limit: $list_limit}) YIELD node AS entity
  RETURN entity
  UNION ALL
  UNWIND CASE WHEN $lucene IS NULL THEN [] ELSE coalesce($among, []) END AS id
  MATCH (entity:Entity {id: id})
  RETURN entity
}
