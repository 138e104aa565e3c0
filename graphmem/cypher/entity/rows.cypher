// entity.rows: some entities by their ids, in the given order, as many as fit; deleted and merged ones only on
// request.
//
// params  entity_ids: LIST<STRING>, include_deleted: BOOLEAN, include_merged: BOOLEAN, include_absent: BOOLEAN,
//         limit: INTEGER
// returns page: LIST<LIST>, merged: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN
// mode    read
// index   entity_id, schema_head (owner, head)
// cost    light
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND (entity.listed IS NOT NULL OR <entity._included>)
WITH collect(entity) AS entities
<entity._page>
