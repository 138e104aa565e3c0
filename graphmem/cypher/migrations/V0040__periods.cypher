// What observations say with dates is folded by periods: what has several observations, and a field that may be such a date,
// is folded again, by the path of withdrawn observations. Both have `$after`, so they run in batches, by id and by key.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
CALL (entity) {
  WITH entity
  WHERE entity.observation_count > 1 AND any(name IN entity.fields
    WHERE toLower(replace(replace(replace(name, ' ', ''), '-', ''), '_', '')) IN split('since sincedate from fromdate ' +
      'datefrom fromyear validfrom validsince activefrom activesince effectivefrom until untildate till to todate dateto ' +
      'toyear validto validuntil validtill validthrough activeuntil', ' '))
  MATCH (owner:Owner {id: entity.owner})
  SET entity.refold = coalesce(entity.refold, 0) + 1, owner.refolding = true
}
RETURN max(entity.id) AS after, count(entity) AS done;
MATCH (relationship:Relationship)
USING INDEX SEEK relationship:Relationship(key)
WHERE relationship.key > $after
WITH relationship ORDER BY relationship.key LIMIT 2000
CALL (relationship) {
  WITH relationship
  WHERE relationship.observation_count > 1 AND size(relationship.fields) > 0
  MATCH (owner:Owner {id: relationship.owner})
  SET relationship.refold = coalesce(relationship.refold, 0) + 1, owner.refolding = true
}
RETURN max(relationship.key) AS after, count(relationship) AS done;
