// Names of people count under other labels, more types have a number of their own, and every type of companies may be
// renamed: things of these types are folded again, by the path of withdrawn observations; when merges held is then worked
// out again. It has `$after`, so it runs in batches, by id.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
CALL (entity) {
  WITH entity WHERE entity.type IN [
    'assurance', 'assurances', 'darlehen', 'firma', 'firmen', 'insurance', 'insurances', 'loan', 'loans', 'organisation',
    'organisations', 'organization', 'organizations', 'passport', 'passports', 'supplier', 'suppliers', 'vendor', 'vendors',
    'versicherung', 'versicherungen', 'company'
  ] OR (entity.type IN ['author', 'contact', 'employee', 'person', 'user'] AND entity.observation_count > 1)
  MATCH (owner:Owner {id: entity.owner})
  SET entity.refold = coalesce(entity.refold, 0) + 1, owner.refolding = true,
    owner.undated = coalesce(owner.revision, 0)
}
RETURN max(entity.id) AS after, count(entity) AS done;
