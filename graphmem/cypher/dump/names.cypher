// dump.names: those of some names that are entity types of an owner, and every alias of the owner's types.
//
// params  names: LIST<STRING>
// returns aliases: LIST<LIST>, types: LIST<STRING>
// mode    read
// index   type_alias_name (owner, name), schema_head (owner, head)
// cost    light
CALL () {
  <schema._aliases>
}
CALL () {
  UNWIND $names AS name
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = name
  RETURN collect(name) AS types
}
RETURN aliases, types
