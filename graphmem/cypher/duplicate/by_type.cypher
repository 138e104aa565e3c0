// duplicate.by_type: the live entities of some types after an id, with the part of each that is compared for likeness.
//
// params  types: LIST<STRING>, after: STRING, limit: INTEGER, compared: LIST<STRING>
// returns page: LIST<LIST>
// mode    read
// index   entity_by_type (owner, listed, id): a seek for each type
// cost    heavy
// `limit` bounds the entities of each type.
UNWIND $types AS type
CALL (type) {
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, listed, id)
  WHERE entity.owner = $owner AND entity.listed = type AND entity.id > $after
  RETURN entity ORDER BY entity.owner, entity.listed, entity.id LIMIT $limit
}
RETURN collect(<duplicate._row>) AS page
