// Names of fields as people spell them: entities with a field that names or identifies under another spelling, and persons
// with a first or a last name, are folded again, by the path of withdrawn observations. That gives them their name and what
// a merge by rule needs; when merges held is then worked out again. It has `$after`, so it runs in batches, by id.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
CALL (entity) {
  WITH entity, ['id', 'uuid', 'externalid', 'messageid', 'number', 'invoicenumber', 'email', 'phone', 'url', 'canonicalname',
    'name', 'fullname', 'title', 'datestart', 'birthday', 'vendor'] AS naming
  WHERE any(field IN entity.fields WHERE NOT field IN ['external_id', 'message_id', 'invoice_number', 'canonical_name',
      'full_name', 'date_start'] AND NOT field IN naming
      AND toLower(replace(replace(replace(field, ' ', ''), '-', ''), '_', '')) IN naming)
    OR (entity.type IN ['person', 'contact', 'employee', 'user', 'author'] AND any(field IN entity.fields
      WHERE toLower(replace(replace(replace(field, ' ', ''), '-', ''), '_', '')) IN ['firstname', 'givenname',
      'forename', 'lastname', 'familyname', 'surname']))
  MATCH (owner:Owner {id: entity.owner})
  SET entity.refold = coalesce(entity.refold, 0) + 1, owner.refolding = true,
    owner.undated = coalesce(owner.revision, 0)
}
RETURN max(entity.id) AS after, count(entity) AS done;
