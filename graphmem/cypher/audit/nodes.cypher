// audit.nodes: the stored nodes of some entities and relationships, with the edges and nodes that are derived for
// them.
//
// params  entities: LIST<STRING>, relationships: LIST<STRING>
// returns entities: LIST<LIST>, relationships: LIST<LIST>, revision: INTEGER
// mode    read
// index   entity_id, meaning_entity, relationship_key, owner_id
// cost    heavy
// The revision is read last: it tells what was written meanwhile.
CALL () {
  UNWIND $entities AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  RETURN collect([id, properties(entity), labels(entity),
    COLLECT { MATCH (entity)<-[:IDENTIFIES]-(identifier:Identifier) RETURN [identifier.kind, identifier.value] },
    COLLECT { MATCH (entity)<-[:identified]-(former:Identifier) WHERE NOT former.kind STARTS WITH 'key:' RETURN [former.kind, former.value] },
    COLLECT { MATCH (entity)-[:MERGED_INTO]->(into:Entity) RETURN into.id },
    COLLECT { MATCH (meaning:Meaning {entity_id: id})
      RETURN [id, meaning.owner, meaning.type, meaning.of, meaning.model, meaning.packed] },
    COLLECT { MATCH (entity)-[:HAS_VALUE]->(value:FieldValue)
      RETURN [value.field, value.value, value.owner = $owner AND value.type = entity.type AND value.entity_id = id] },
    COLLECT { MATCH (entity)-[:HAS_EVENT]->(event:TimelineEvent) RETURN properties(event) },
    COLLECT { MATCH (entity)-[:HAS_HISTORY]->(:History)-[:OBSERVED]->(observation:Observation)
      WHERE NOT EXISTS { (observation)-[:split_by]->() }
      RETURN DISTINCT observation.entity_type }]) AS entities
}
CALL () {
  UNWIND $relationships AS key
  MATCH (relationship:Relationship {key: key})
  WHERE relationship.owner = $owner
  MATCH (source:Entity {id: relationship.source})
  MATCH (target:Entity {id: relationship.target})
  RETURN collect([key, properties(relationship),
    COLLECT { MATCH (source)-[edge]->(target)
      WHERE edge.key = key AND coalesce(edge.type, type(edge)) = relationship.type RETURN edge.live },
    COLLECT { MATCH (relationship)-[:SHOWN_AS]->(survivor:Relationship) RETURN survivor.key }]) AS relationships
}
WITH entities, relationships LIMIT 1
OPTIONAL MATCH (written_owner:Owner {id: $owner})
RETURN entities, relationships, coalesce(written_owner.revision, 0) AS revision
