// search.follow: what changed of an owner's entities since a copy in memory read them, and the entities that some
// identifiers name.
//
// params  changed: INTEGER, after: STRING, vectors_changed: INTEGER, vectors_after: STRING, limit: INTEGER,
//         vectors_limit: INTEGER, pairs: LIST<LIST>, kinds: LIST<STRING>, types: LIST<STRING>, list_limit: INTEGER
// returns state: LIST, documents: LIST<LIST>, vectors: LIST<LIST>, exact: LIST<LIST>, aliases: LIST<LIST>
// mode    read
// index   entity_changed (owner, changed, id), meaning_changed (owner, changed, entity_id), meaning_entity, entity_id,
//         identifier_value, type_alias_name (owner, name)
// cost    light
// The rows of `documents` are in the order of `changed` and id, from the entity after (`changed`, `after`) on; so are
// those of `vectors`, of entities whose vectors the worker stored. A row of `exact` is an id, the index of its strongest
// kind, the pairs that name it, and the type; a row of `aliases` another name of a type, and the type. The state is read
// first: what it says was committed before is in the rows, unless a commit is just becoming visible (the state says how
// many entities the last one wrote).
<search._state>
CALL (state) {
  CALL () {
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, changed, id)
    WHERE entity.owner = $owner AND entity.changed = $changed AND entity.id > $after
    RETURN entity ORDER BY entity.owner, entity.changed, entity.id LIMIT $limit
    UNION ALL
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, changed, id)
    WHERE entity.owner = $owner AND entity.changed > $changed AND entity.id IS NOT NULL
    RETURN entity ORDER BY entity.owner, entity.changed, entity.id LIMIT $limit
  }
  WITH entity LIMIT $limit
  OPTIONAL MATCH (meaning:Meaning {entity_id: entity.id})
  RETURN collect(<search._document>) AS documents
}
CALL (state) {
  CALL () {
    MATCH (meaning:Meaning)
    USING INDEX SEEK meaning:Meaning(owner, changed, entity_id)
    WHERE meaning.owner = $owner AND meaning.changed = $vectors_changed AND meaning.entity_id > $vectors_after
    RETURN meaning ORDER BY meaning.owner, meaning.changed, meaning.entity_id LIMIT $vectors_limit
    UNION ALL
    MATCH (meaning:Meaning)
    USING INDEX SEEK meaning:Meaning(owner, changed, entity_id)
    WHERE meaning.owner = $owner AND meaning.changed > $vectors_changed AND meaning.entity_id IS NOT NULL
    RETURN meaning ORDER BY meaning.owner, meaning.changed, meaning.entity_id LIMIT $vectors_limit
  }
  WITH meaning LIMIT $vectors_limit
  MATCH (entity:Entity {id: meaning.entity_id})
  WHERE entity.owner = $owner
  RETURN collect(<search._document>) AS vectors
}
CALL () {
  CALL () {
    <search._exact>
  }
  WITH entity, strength, names ORDER BY strength, entity.id LIMIT $list_limit
  RETURN collect([entity.id, strength, names, entity.type]) AS exact
}
CALL () {
  <schema._aliases>
}
RETURN state, documents, vectors, exact, aliases
