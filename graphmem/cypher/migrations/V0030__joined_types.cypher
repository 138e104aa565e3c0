// Entities whose values make another id today join the entity of that id: contacts join persons, and persons that their
// content made, though it has a first and a last name or a name in another spelling, join the person of the name. They are
// folded again, by the path of withdrawn observations; when merges held is then worked out again. It has `$after`, so it
// runs in batches, by id.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
CALL (entity) {
  WITH entity, ['email', 'name', 'fullname', 'canonicalname', 'birthday', 'firstname', 'givenname', 'forename', 'lastname',
    'familyname', 'surname'] AS naming
  WHERE entity.type = 'contact'
    OR (entity.type IN ['person', 'employee', 'user', 'author'] AND any(field IN entity.fields
      WHERE NOT field IN ['email', 'name', 'full_name', 'canonical_name', 'birthday']
        AND toLower(replace(replace(replace(field, ' ', ''), '-', ''), '_', '')) IN naming))
  MATCH (owner:Owner {id: entity.owner})
  SET entity.refold = coalesce(entity.refold, 0) + 1, owner.refolding = true,
    owner.undated = coalesce(owner.revision, 0)
}
RETURN max(entity.id) AS after, count(entity) AS done;
