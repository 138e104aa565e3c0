// The aliases of an owner's entity types, as `aliases`: pairs of alias and type. `contact` is one while it is no type of
// the owner's own (identity.SHIPPED_ALIASES).
MATCH (alias:TypeAlias)
USING INDEX SEEK alias:TypeAlias(owner, name)
WHERE alias.owner = $owner AND alias.name IS NOT NULL
WITH collect([alias.name, alias.type]) AS registered
OPTIONAL MATCH (own:Schema)
USING INDEX SEEK own:Schema(owner, head)
WHERE own.owner = $owner AND own.head = 'contact'
WITH registered, count(own) AS own
RETURN CASE WHEN own > 0 THEN registered ELSE registered + [['contact', 'person']] END AS aliases
