// People who share an e-mail address are parted by their names and birthdays: a person whose observations said more of its
// identity than its snapshot shows is folded again, by the path of withdrawn observations, and parted then. It has `$after`,
// so it runs in batches, by id.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
CALL (entity) {
  WITH entity WHERE entity.type IN ['person', 'contact'] AND entity.evidence IS NOT NULL
  MATCH (owner:Owner {id: entity.owner})
  SET entity.refold = coalesce(entity.refold, 0) + 1, owner.refolding = true
}
RETURN max(entity.id) AS after, count(entity) AS done;
