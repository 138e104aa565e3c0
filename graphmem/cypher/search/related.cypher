// search.related: the entities at the other ends of some relationships of some entities, newest first.
//
// params  entity_ids: LIST<STRING>, outgoing: LIST<STRING>, incoming: LIST<STRING>, types: LIST<STRING>,
//         fields: LIST<STRING>, describing: LIST<STRING>, scanned: INTEGER, characters: INTEGER, limit: INTEGER
// returns related: LIST<LIST>, cut: BOOLEAN, entities: LIST<LIST>
// mode    read
// index   entity_id, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id)
// cost    light
// `outgoing` and `incoming` are relationship types; of a null list every type counts. No `types` of entities means
// every type. Of each entity the newest `scanned` relationships in each direction are compared; `cut` tells that one
// has as many, so that older ones may be left out. A row is the id of the entity, the key and the type of the
// relationship, the id of the other entity, the metadata (values of at most `characters`), the mark of a relationship
// that is to be folded again, the name of the other entity, whether it is a relationship from the entity, and what the
// other entity is: its type, and its values of the fields `describing`, in small letters.
// `entities` are the id and the name of each, with its fields of which a name of `fields`, in small letters, is the
// whole name or the words before a `_`, and their values.
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL
CALL (entity) {
  MATCH (relationship:Relationship)
  USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
  WHERE relationship.owner = $owner AND relationship.source = entity.id
    AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
  WITH relationship
  ORDER BY relationship.owner DESC, relationship.source DESC, relationship.last_observation_at DESC,
    relationship.id DESC LIMIT $scanned
  RETURN count(*) AS read_as_source, collect(CASE
    WHEN ($outgoing IS NULL OR relationship.type IN $outgoing) AND relationship.shown_as IS NULL AND relationship.live
    THEN relationship END) AS from_entity
}
CALL (entity) {
  MATCH (relationship:Relationship)
  USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
  WHERE relationship.owner = $owner AND relationship.target = entity.id
    AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
  WITH relationship
  ORDER BY relationship.owner DESC, relationship.target DESC, relationship.last_observation_at DESC,
    relationship.id DESC LIMIT $scanned
  RETURN count(*) AS read_as_target, collect(CASE
    WHEN ($incoming IS NULL OR relationship.type IN $incoming) AND relationship.shown_as IS NULL AND relationship.live
    THEN relationship END) AS to_entity
}
CALL (entity, from_entity, to_entity) {
  CALL (from_entity, to_entity) {
    UNWIND from_entity AS relationship
    RETURN relationship, relationship.target AS other_id
    UNION ALL
    UNWIND to_entity AS relationship
    RETURN relationship, relationship.source AS other_id
  }
  MATCH (other:Entity {id: other_id})
  WHERE other.listed IS NOT NULL AND other.owner = $owner AND (size($types) = 0 OR other.type IN $types)
  WITH entity, relationship, other
  ORDER BY relationship.last_observation_at DESC, relationship.id DESC LIMIT $limit
  RETURN collect([entity.id, relationship.key, relationship.type, other.id,
    head([lists IN [[relationship.fields, relationship.values]] |
      [i IN range(0, size(lists[0]) - 1) WHERE <entity._short>
      | [lists[0][i], head([placed IN [[relationship.key, lists[1][i]]] | <entity._placed>])]]]),
    relationship.refold, head([placed IN [[other.id, other.name]] | <entity._placed>]), relationship.source = entity.id,
    other.type + head([lists IN [[other.fields, other.values]] | [i IN range(0, size(lists[0]) - 1)
      WHERE toLower(lists[0][i]) IN $describing AND <entity._short>
      | head([placed IN [[other.id, lists[1][i]]] | <entity._placed>])]])]) AS rows
}
WITH rows, read_as_source, read_as_target, [entity.id, entity.name,
  head([lists IN [[entity.fields, entity.values]] | [i IN range(0, size(lists[0]) - 1)
    WHERE any(name IN $fields WHERE toLower(lists[0][i]) + '_' STARTS WITH name + '_')
      AND <entity._short>
    | [lists[0][i], head([placed IN [[entity.id, lists[1][i]]] | <entity._placed>])]]])] AS holder
RETURN reduce(every = [], of_entity IN collect(rows) | every + of_entity) AS related,
  coalesce(max(CASE WHEN read_as_source >= $scanned OR read_as_target >= $scanned THEN 1 ELSE 0 END), 0) = 1 AS cut,
  collect(holder) AS entities
