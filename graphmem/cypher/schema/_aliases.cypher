// The aliases of an owner's entity types, as `aliases`: pairs of alias and type. `contact` is one unless the owner has a
// schema of it, or entities that were stored before it was one and are no persons yet (identity.SHIPPED_ALIASES).
MATCH (alias:TypeAlias)
USING INDEX SEEK alias:TypeAlias(owner, name)
WHERE alias.owner = $owner AND alias.name IS NOT NULL
WITH collect([alias.name, alias.type]) AS registered
OPTIONAL MATCH (own:Schema)
USING INDEX SEEK own:Schema(owner, head)
WHERE own.owner = $owner AND own.head = 'contact' AND (own.active_version IS NOT NULL OR EXISTS {
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, listed, id)
  WHERE entity.owner = $owner AND entity.listed = 'contact' AND entity.id IS NOT NULL
})
WITH registered, count(own) AS own
RETURN CASE WHEN own > 0 THEN registered ELSE registered + [['contact', 'person']] END AS aliases
