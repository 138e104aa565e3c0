// search.copy: some listed entities of an owner by type and id, for a copy in memory.
//
// params  type: STRING, after: STRING, limit: INTEGER
// returns state: LIST, entities: INTEGER, documents: LIST<LIST>
// mode    read
// index   entity_by_type (owner, listed, id), meaning_entity, count_type
// cost    light
// It reads what it answers, and belongs to no request: so it needs no place among the heavy ones. From the entity of `$type` after `$after` on, and of all types behind it. `entities` is how many the owner has.
<search._state>
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IS NOT NULL
  RETURN sum(counted.total) AS entities
}
CALL () {
  CALL () {
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, listed, id)
    WHERE entity.owner = $owner AND entity.listed = $type AND entity.id > $after
    RETURN entity ORDER BY entity.owner, entity.listed, entity.id LIMIT $limit
    UNION ALL
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, listed, id)
    WHERE entity.owner = $owner AND entity.listed > $type AND entity.id IS NOT NULL
    RETURN entity ORDER BY entity.owner, entity.listed, entity.id LIMIT $limit
  }
  WITH entity LIMIT $limit
  OPTIONAL MATCH (meaning:Meaning {entity_id: entity.id})
  RETURN collect(<search._document>) AS documents
}
RETURN state, entities, documents
