// context.matching: the relationships of some entities that have words of a question, in the type, in the metadata or in
// the text of the entity at the other end.
//
// params  entity_ids: LIST<STRING>, words: LIST<STRING>, scanned: INTEGER, relationships: INTEGER, characters: INTEGER
// returns entities: LIST<LIST>
// mode    read
// index   entity_id, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id)
// cost    heavy
// It is for entities that have more relationships than context.gather reads. A row is an id and its relationships as
// context.gather answers them, those with most words first, then the newest. Of each direction the newest `scanned`
// are compared. Of a sealed instance all of them are answered: the caller compares them.
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL
CALL (entity) {
  CALL (entity) {
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.source = entity.id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
      AND relationship.shown_as IS NULL AND relationship.live
    MATCH (other:Entity {id: relationship.target})
    WHERE other.listed IS NOT NULL
    RETURN relationship, other, 'outgoing' AS direction
    ORDER BY relationship.owner DESC, relationship.source DESC, relationship.last_observation_at DESC,
      relationship.id DESC LIMIT $scanned
    UNION ALL
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.target = entity.id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
      AND relationship.shown_as IS NULL AND relationship.live
    MATCH (other:Entity {id: relationship.source})
    WHERE other.listed IS NOT NULL
    RETURN relationship, other, 'incoming' AS direction
    ORDER BY relationship.owner DESC, relationship.target DESC, relationship.last_observation_at DESC,
      relationship.id DESC LIMIT $scanned
  }
  WITH relationship, other, direction,
    head([lists IN [[relationship.fields, relationship.values]] |
      [i IN range(0, size(lists[0]) - 1) WHERE <entity._short>
      | [lists[0][i], lists[1][i]]]]) AS metadata
  WITH relationship, other, direction, metadata, toLower(reduce(text = relationship.type, field IN metadata |
    text + ' ' + field[0] + ' ' + field[1])) AS text
  WITH relationship, other, direction, metadata,
    size([word IN $words WHERE ' ' + other.text CONTAINS ' ' + word]) AS matches,
    size([word IN $words WHERE text CONTAINS word]) AS own_matches
  WHERE matches + own_matches > 0 OR other.sealed_text IS NOT NULL
  ORDER BY matches + own_matches DESC, relationship.last_observation_at DESC, relationship.id DESC
  LIMIT $relationships
  RETURN collect([relationship.key, relationship.type, direction, other.id, other.type,
    head([placed IN [[other.id, other.canonical_name]] | <entity._placed>]), relationship.last_observation_at,
    relationship.turn[1], [field IN metadata | [field[0], head([placed IN [[relationship.key, field[1]]] | <entity._placed>])]], matches,
    relationship.refold, head([placed IN [[other.id, other.sealed_text]] | <entity._placed>]), relationship.winners, <context._named_by>]) AS related
}
RETURN collect([entity.id, related]) AS entities
