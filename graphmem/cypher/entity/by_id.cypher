// entity.by_id: some live entities by their ids, in the given order; entities whose values do not fit are left out.
//
// params  entity_ids: LIST<STRING>
// returns entities: LIST<LIST>
// mode    read
// index   entity_id
// cost    light
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL
WITH collect(entity) AS matches
WITH matches, [entity IN matches | entity.size] AS sizes
WITH matches, <entity._fitting> AS fitting
CALL (matches, fitting) {
  UNWIND matches[..fitting] AS entity
  RETURN collect(<entity._row>) AS entities
}
RETURN entities
