// search.sample: the first listed entities of each of the 20 types of which an owner has most, as a copy in memory holds
// them, and how many entities the type has.
//
// params  limit: INTEGER
// returns types: LIST<LIST>
// mode    read
// index   count_type (owner, kind, type), entity_by_type (owner, listed, id), meaning_entity
// cost    light
// Ids are hashes, so that the first entities of a type are as large as the others. As search.copy, it belongs to no request.
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IS NOT NULL AND counted.total > 0
  RETURN counted.type AS type, counted.total AS total ORDER BY total DESC, type LIMIT 20
}
CALL (type) {
  CALL (type) {
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, listed, id)
    WHERE entity.owner = $owner AND entity.listed = type AND entity.id IS NOT NULL
    RETURN entity ORDER BY entity.owner, entity.listed, entity.id LIMIT $limit
  }
  OPTIONAL MATCH (meaning:Meaning {entity_id: entity.id})
  RETURN collect(<search._document>) AS documents
}
RETURN collect([total, documents]) AS types
