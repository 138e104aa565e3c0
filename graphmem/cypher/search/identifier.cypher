// search.identifier: the entities that identifiers name, and the entities whose text has an identifier in one of some
// spellings, with the values that may have it.
//
// params  pairs: LIST<LIST>, kinds: LIST<STRING>, types: LIST<STRING>, lucene: STRING, patterns: LIST<STRING>,
//         needles: LIST<STRING>, among: LIST<STRING>, list_limit: INTEGER, characters: INTEGER
// returns exact: LIST<LIST>, proposed: INTEGER, text: LIST<LIST>, total: INTEGER, state: LIST
// mode    read
// index   identifier_value (owner, kind, value), entity_words, entity_id, count_type (owner, kind, type), owner_id
// cost    heavy
// Pairs and kinds are those of entity.find. Only entities of `among` are answered; if it is null, all are. `proposed`
// counts the entities that were compared, `total` those of the types. The words of a text do not tell which signs stand
// between them: the caller compares the name and the values. A row of `text` is an id, a score, the name, and the
// fields and values that contain one of `needles` in lower case, or have other characters than ASCII. In place of values
// of more than `characters` together stands null.
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
  <search._proposed>
  WITH entity, ' ' + entity.text + ' ' AS text
  WITH entity, text, entity.owner = $owner AND entity.listed IS NOT NULL
    AND (size($types) = 0 OR entity.listed IN $types) AND any(pattern IN $patterns WHERE text CONTAINS pattern) AS has
  WITH entity, has, size(text) AS length,
    has AND any(pattern IN $patterns WHERE split(text, '|')[0] CONTAINS pattern) AS in_name,
    CASE WHEN has THEN head([lists IN [[entity.fields, entity.values]] | [i IN range(0, size(lists[1]) - 1)
      WHERE any(needle IN $needles WHERE toLower(lists[1][i]) CONTAINS needle)
        OR lists[1][i] =~ '(?s).*[^\\p{ASCII}].*' | [lists[0][i], lists[1][i]]]]) END AS values
  RETURN count(*) AS proposed, collect(CASE WHEN has THEN [entity.id,
    round(CASE WHEN in_name THEN 1.0 ELSE 0.0 END + 2.2 / (1.3 + 0.003 * length), 6), entity.canonical_name,
    CASE WHEN reduce(sum = 0, value IN values | sum + size(value[1])) <= $characters THEN values END] END) AS text
}
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IS NOT NULL
    AND (size($types) = 0 OR counted.type IN $types)
  RETURN sum(counted.total) AS total
}
<search._state>
RETURN exact, proposed, text, total, state
