// entity.joined: the listed entities that a live relationship joins to an entity, with the values of some fields.
//
// params  entity_id: STRING, relationship_types: LIST<STRING>, types: LIST<STRING>, fields: LIST<STRING>, cut: INTEGER,
//         key: STRING, names: LIST<STRING>, characters: INTEGER, most: INTEGER
// returns entity_id: STRING, compared: INTEGER, joined: LIST<LIST>, candidates: LIST<LIST>, keys: LIST, heads: LIST<LIST>
// mode    read
// index   entity_id, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id), schema_head
//         (owner, head)
// cost    heavy
// No `relationship_types` means every type; so do no `types` of entities. `entity_id` is that of the survivor if the
// entity is merged, null if there is none. `compared` counts the relationships that were read, at most `most` in each
// direction. A row of `joined` is the id of the other entity, the key of the relationship, the fields among `names` (in
// lower case and without `_`, `-` and blanks) with values of at most `characters`, and the mark of a relationship that is
// to be folded again.
OPTIONAL MATCH (requested:Entity {id: $entity_id})
WHERE requested.owner = $owner
OPTIONAL MATCH (requested)-[:MERGED_INTO*0..]->(survivor:Entity)
WHERE survivor.merged_into IS NULL AND survivor.live
WITH survivor.id AS entity_id
CALL (entity_id) {
  CALL (entity_id) {
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.source = entity_id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship, relationship.target AS other_id LIMIT $most
    UNION ALL
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.target = entity_id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship, relationship.source AS other_id LIMIT $most
  }
  WITH relationship, other_id LIMIT $most
  WITH count(*) AS compared, collect(CASE
    WHEN relationship.shown_as IS NULL AND relationship.live
      AND (size($relationship_types) = 0 OR relationship.type IN $relationship_types)
    THEN [other_id, relationship.key, head([lists IN [[relationship.fields, relationship.values]] |
      [i IN range(0, size(lists[0]) - 1)
      WHERE replace(replace(replace(toLower(lists[0][i]), '_', ''), '-', ''), ' ', '') IN $names
        AND <entity._short> | [lists[0][i], head([placed IN [[relationship.key, lists[1][i]]] | <entity._placed>])]]]),
      relationship.refold] END) AS joined
  RETURN compared, joined
}
CALL (joined) {
  UNWIND joined AS link
  WITH DISTINCT link[0] AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner AND entity.listed IS NOT NULL AND (size($types) = 0 OR entity.type IN $types)
  RETURN collect(<entity._candidate>) AS candidates, collect([<entity._key>]) AS keys,
    collect(DISTINCT entity.type) AS types
}
RETURN entity_id, compared, joined, candidates, keys, <entity._heads>
