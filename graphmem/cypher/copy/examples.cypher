// copy.examples: how much an owner has, and the names of three entities, for who is to say whether two copies are of one memory.
//
// params  none
// returns transactions: INTEGER, entities: INTEGER, names: LIST<LIST>
// mode    read
// index   owner_id, count_type (owner, kind, type), entity_by_state (owner, type, live, id)
// cost    light
OPTIONAL MATCH (owner:Owner {id: $owner})
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IS NOT NULL
  RETURN sum(counted.total) AS entities, collect(counted.type) AS types
}
CALL (types) {
  UNWIND types AS type
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, type, live, id)
  WHERE entity.owner = $owner AND entity.type = type AND entity.live = true AND entity.id IS NOT NULL
  WITH entity LIMIT 3
  RETURN collect([entity.id, entity.canonical_name]) AS names
}
RETURN coalesce(owner.sequence, 0) AS transactions, entities, names
