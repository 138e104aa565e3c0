// The listed entities whose text contains every one of `$patterns`, at most `$list_limit` of them. The score rises
// with the number of matches for the text's length, and with matches in the name. The index proposes entities by
// words and by owner, and the text of each proposal is compared with the patterns. The index is updated after a
// commit: the query waits until every earlier commit is in it.
WITH $lucene AS lucene WHERE lucene IS NOT NULL
CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()
CALL db.index.fulltext.queryNodes('entity_words', lucene, {limit: $list_limit}) YIELD node AS entity
WHERE entity.owner = $owner AND entity.listed IS NOT NULL AND (size($types) = 0 OR entity.listed IN $types)
WITH entity, ' ' + entity.text + ' ' AS text
WHERE all(pattern IN $patterns WHERE text CONTAINS pattern)
WITH entity, text, split(text, '|')[0] AS name
WITH entity, reduce(sum = 0.0, pattern IN $patterns | sum
  + CASE WHEN name CONTAINS pattern THEN 1.0 ELSE 0.0 END
  + (size(split(text, pattern)) - 1) * 2.2 / (size(split(text, pattern)) - 1 + 0.3 + 0.003 * size(text))) AS score
RETURN entity, round(score / size($patterns), 6) AS score
ORDER BY score DESC, entity.id
