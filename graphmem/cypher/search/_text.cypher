// The listed entities whose text contains every one of `$patterns`, among those of <search._proposed>. The score rises
// with the number of matches for the text's length, and with matches in the name.
<search._proposed>
WITH entity
WHERE entity.owner = $owner AND entity.listed IS NOT NULL AND (size($types) = 0 OR entity.listed IN $types)
WITH entity, ' ' + entity.text + ' ' AS text
WHERE all(pattern IN $patterns WHERE text CONTAINS pattern)
WITH entity, text, split(text, '|')[0] AS name
WITH entity, reduce(sum = 0.0, pattern IN $patterns | sum
  + CASE WHEN name CONTAINS pattern THEN 1.0 ELSE 0.0 END
  + (size(split(text, pattern)) - 1) * 2.2 / (size(split(text, pattern)) - 1 + 0.3 + 0.003 * size(text))) AS score
RETURN entity, round(score / size($patterns), 6) AS score
ORDER BY score DESC, entity.id
