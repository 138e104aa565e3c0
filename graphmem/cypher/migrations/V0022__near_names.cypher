// Names of persons by groups: nobody is merged by a name alone if somebody else has a name near it. Persons, and
// entities of types whose rule has `full_name`, are folded again, by the path of withdrawn observations: that stores
// the groups of their names, and ends merges that hold no more. It has `$after`, so it runs in batches, by id.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
CALL (entity) {
  WITH entity
  WHERE entity.type IN ['contact', 'person'] OR EXISTS {
    MATCH (schema:Schema)
    WHERE schema.owner = entity.owner AND schema.head = entity.type AND schema.document CONTAINS '"full_name"'
  }
  MATCH (owner:Owner {id: entity.owner})
  SET entity.refold = coalesce(entity.refold, 0) + 1, owner.refolding = true
}
RETURN max(entity.id) AS after, count(entity) AS done;
