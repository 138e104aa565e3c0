// The other names of an owner's entity types as `aliases`, each with the type that it names.
MATCH (alias:TypeAlias)
USING INDEX SEEK alias:TypeAlias(owner, name)
WHERE alias.owner = $owner AND alias.name IS NOT NULL
RETURN collect([alias.name, alias.type]) AS aliases
