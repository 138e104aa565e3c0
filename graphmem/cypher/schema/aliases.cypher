// schema.aliases: the aliases of an owner's entity types, each with the type that it names.
//
// params  none
// returns aliases: LIST<LIST>
// mode    read
// index   type_alias_name (owner, name)
// cost    light
<schema._aliases>
