// schema.aliases: the aliases of an owner's entity types, each with the type that it names.
//
// params  none
// returns aliases: LIST<LIST>
// mode    read
// index   type_alias_name (owner, name), schema_head, entity_by_type (owner, listed, id)
// cost    light
<schema._aliases>
