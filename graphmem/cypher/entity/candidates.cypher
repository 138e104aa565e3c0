// entity.candidates: the entities of some types, in no order, with the values of some fields; with `since`, only
// those that were created or updated since a time.
//
// params  types: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN,
//         since: STRING,
//         updated_since: INTEGER, created_since: INTEGER, key: STRING, fields: LIST<STRING>, cut: INTEGER,
//         most: INTEGER
// returns candidates: LIST<LIST>, keys: LIST, heads: LIST<LIST>
// mode    read
// index   entity_by_updated or entity_by_created (owner, listed, the time, id), or entity_by_type (owner, listed,
//         id), as `since` says; entity_unlisted (owner, unlisted, id); count_type (owner, kind, type), schema_head
//         (owner, head)
// cost    heavy
// `since` names the property that holds the time, null for all entities. `most` bounds the entities that are read.
// `keys` are the values of the property `key`.
<entity._types>
CALL (types) {
  UNWIND types AS type
  CALL (type) {
    WITH type WHERE $since = 'updated_at'
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, listed, updated_at, id)
    WHERE entity.owner = $owner AND entity.listed = type AND entity.updated_at >= $updated_since AND entity.id IS NOT NULL
    RETURN entity LIMIT $most
    UNION ALL
    WITH type WHERE $since = 'created_at'
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, listed, created_at, id)
    WHERE entity.owner = $owner AND entity.listed = type AND entity.created_at >= $created_since AND entity.id IS NOT NULL
    RETURN entity LIMIT $most
    UNION ALL
    WITH type WHERE $since IS NULL
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, listed, id)
    WHERE entity.owner = $owner AND entity.listed = type AND entity.id IS NOT NULL
    RETURN entity LIMIT $most
    UNION ALL
    WITH type WHERE $include_deleted OR $include_merged
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, unlisted, id)
    WHERE entity.owner = $owner AND entity.unlisted = type AND entity.id IS NOT NULL AND <entity._included>
    RETURN entity LIMIT $most
  }
  WITH entity LIMIT $most
  RETURN collect(<entity._candidate>) AS candidates, collect([<entity._key>]) AS keys
}
RETURN candidates, keys, <entity._heads>
