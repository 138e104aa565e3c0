// owner.erase_entity: erase an entity of the shared account, and what is merged with it, with all that is stored about
// it; no row if there is no such entity.
//
// params  entity_id: STRING, name: STRING
// returns entities: INTEGER, contents: LIST<STRING>, kept_sources: LIST<STRING>
// mode    write
// index   account_name, owner_id, entity_id, relationship_key, meaning_entity, schema_head (owner, head),
//         passages_source
// cost    heavy
// sealing contents: clear, kept_sources: clear, name: clear
// The locks of the account and the owner are taken before anything is read, in the order in which a wipe takes them. The
// new node key tells copies in memory, streams and cursors that they know a past that is not there any more. Relationships
// of the entity go with it. A file that says something about others stays: `kept_sources`. Of another one the node goes,
// and `contents` is the hash of its bytes. The transactions stay for the other entities that they stored; their answers
// and idempotency keys go, so that the first world can be stored again by its own keys. The schemas
// that were discovered of its type go too. Counters, the state hash and these schemas are wrong afterwards, until an
// audit corrects them.
MATCH (account:Account {name: $name})
SET account.locked = true
WITH account WHERE account.owner = $owner
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH account, owner
MATCH (named:Entity {id: $entity_id})
WHERE named.owner = $owner
SET account.is_seeded = false, owner.revision = owner.revision + 1, owner.node_key = randomUUID()
WITH named
CALL (named) {
  MATCH (named)-[:MERGED_INTO*0..]->(root:Entity)
  WHERE coalesce(root.merged_into, '') = ''
  MATCH (root)<-[:MERGED_INTO*0..]-(member:Entity)
  RETURN collect(DISTINCT member) AS members
}
CALL (members) {
  UNWIND members AS member
  MATCH (member)-[edge]-(:Entity)
  WHERE edge.key IS NOT NULL
  MATCH (relationship:Relationship {key: edge.key})
  RETURN collect(DISTINCT relationship) AS relationships
}
CALL (members, relationships) {
  UNWIND members + relationships AS subject
  MATCH (subject)-[:HAS_HISTORY]->(history:History)
  OPTIONAL MATCH (history)-[:OBSERVED]->(observation:Observation)
  OPTIONAL MATCH (observation)-[:FROM_SOURCE]->(source:Source)
  OPTIONAL MATCH (observation)-[:IN_TRANSACTION|also_in]->(transaction:Transaction)
  RETURN collect(DISTINCT history) AS histories, collect(DISTINCT observation) AS observations,
    collect(DISTINCT source) AS sources, collect(DISTINCT transaction) AS transactions
}
CALL (members) {
  UNWIND members AS member
  CALL (member) {
    MATCH (meaning:Meaning {entity_id: member.id})
    RETURN meaning AS node
    UNION ALL
    MATCH (member)-[:HAS_VALUE|HAS_EVENT]->(node)
    RETURN node
    UNION ALL
    MATCH (member)-[:HAS_HISTORY]->(:History)-[:HAD_EVENT]->(node)
    RETURN node
  }
  RETURN collect(node) AS derived
}
CALL (members) {
  UNWIND members AS member
  MATCH (member)<-[:IDENTIFIES|identified]-(identifier:Identifier)
  RETURN collect(DISTINCT identifier) AS identifiers
}
CALL (members) {
  UNWIND members AS member
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = member.type
  RETURN collect(DISTINCT head) AS heads
}
WITH *, size(members) AS entities
FOREACH (each IN transactions | SET each.idempotency_key = null, each.answer = '{}')
FOREACH (each IN observations + histories + relationships + derived + heads + members | DETACH DELETE each)
WITH entities, sources, [each IN identifiers WHERE NOT EXISTS { (each)-->() }] AS unused
FOREACH (each IN unused | DELETE each)
WITH entities, [each IN sources WHERE EXISTS { (each)<-[:FROM_SOURCE]-() }] AS kept,
  [each IN sources WHERE NOT EXISTS { (each)<-[:FROM_SOURCE]-() }] AS gone
WITH entities, [each IN kept | each.id] AS kept_sources, [each IN gone | each.content_hash] AS contents, gone
CALL (gone) {
  UNWIND gone AS source
  OPTIONAL MATCH (passages:Passages {source_id: source.id})
  OPTIONAL MATCH (source)<-[:of]-(interpretation:Interpretation)
  DETACH DELETE passages, interpretation, source
}
RETURN entities, contents, kept_sources
