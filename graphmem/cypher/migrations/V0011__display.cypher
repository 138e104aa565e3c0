// What the Neo4j Browser shows of an entity: its name as the property `name`, and a second label for the shipped types.
// A turn writes both with an entity; this statement is for the entities of an older database. It has `$after`, so it
// runs in batches, by id.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
WITH entity, {
    company: 'Company', contact: 'Contact', conversation: 'Conversation', document: 'Document', event: 'Event',
    invoice: 'Invoice', location: 'Location', message: 'Message', note: 'Note', person: 'Person',
    project: 'Project', task: 'Task', transaction: 'BankTransaction'
  }[entity.type] AS label
SET entity.name = entity.canonical_name, entity:$(CASE WHEN label IS NULL THEN [] ELSE [label] END)
RETURN max(entity.id) AS after, count(entity) AS done;
