// dump.names: those of some names that are entity types of an owner, and every alias of the owner's types.
//
// params  names: LIST<STRING>
// returns aliases: LIST<LIST>, types: LIST<STRING>
// mode    read
// index   type_alias_name (owner, name), schema_head (owner, head)
// cost    light
CALL () {
  MATCH (alias:TypeAlias)
  USING INDEX SEEK alias:TypeAlias(owner, name)
  WHERE alias.owner = $owner AND alias.name IS NOT NULL
  RETURN collect([alias.name, alias.type]) AS aliases
}
CALL () {
  UNWIND $names AS name
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = name
  RETURN collect(name) AS types
}
RETURN aliases, types
