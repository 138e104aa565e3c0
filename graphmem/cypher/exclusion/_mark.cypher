// Mark entities and relationships of which other observations count: they are folded again. Takes `entity_ids` and
// `relationship_keys`. `refold` counts the changes since an entity or a relationship was folded. A survivor is folded
// again with its members. `projection` becomes one that no rules have, so that reads fold first: they find what was
// absent as well.
CALL (entity_ids) {
  UNWIND entity_ids AS id
  MATCH (entity:Entity {id: id})
  SET entity.excluded = true
  WITH entity
  MATCH (entity)-[:MERGED_INTO*0..]->(shown:Entity)
  WHERE shown = entity OR coalesce(shown.merged_into, '') = ''
  WITH DISTINCT shown
  SET shown.refold = coalesce(shown.refold, 0) + 1, shown.projection = 'withdrawn'
  WITH shown WHERE shown.merged_into = ''
  SET shown.merged_into = null, shown.live = true
}
CALL (relationship_keys) {
  UNWIND relationship_keys AS key
  MATCH (relationship:Relationship {key: key})
  SET relationship.excluded = true
  WITH relationship
  MATCH (relationship)-[:SHOWN_AS*0..1]->(shown:Relationship)
  WITH DISTINCT shown
  SET shown.refold = coalesce(shown.refold, 0) + 1
  WITH shown WHERE shown.shown_as = ''
  SET shown.shown_as = null, shown.live = true
}
