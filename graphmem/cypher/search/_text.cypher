// The listed entities that say every one of `$patterns`, at most `$list_limit` of them, with a score: how often they say it
// for their length, and whether their name does. The index proposes, by words and by owner; what it proposes is read.
// The index follows the commits: all of it that was committed before is waited for.
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
