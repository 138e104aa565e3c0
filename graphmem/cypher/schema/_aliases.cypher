// The aliases of an owner's entity types, as `aliases`: pairs of alias and type.
MATCH (alias:TypeAlias)
USING INDEX SEEK alias:TypeAlias(owner, name)
WHERE alias.owner = $owner AND alias.name IS NOT NULL
RETURN collect([alias.name, alias.type]) AS aliases
