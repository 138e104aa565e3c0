// schema.aliases: the other names of an owner's entity types, each with the type that it names.
//
// params  none
// returns aliases: LIST<LIST>
// mode    read
// index   type_alias_name (owner, name)
// cost    light
MATCH (alias:TypeAlias)
USING INDEX SEEK alias:TypeAlias(owner, name)
WHERE alias.owner = $owner AND alias.name IS NOT NULL
RETURN collect([alias.name, alias.type]) AS aliases
