// passages.named: the entities that some pairs of a kind of identifier and its index key name now.
//
// params  pairs: LIST<LIST>, kinds: LIST<STRING>, types: LIST<STRING>
// returns named: LIST<LIST>
// mode    read
// index   identifier_value (owner, kind, value)
// cost    light
// A row is an id, the type, the name, and the pairs that name the entity. It costs a seek for each pair.
CALL () {
  <search._exact>
}
WITH entity, strength, names WHERE strength < 100
RETURN collect([entity.id, entity.type, entity.canonical_name, names]) AS named
