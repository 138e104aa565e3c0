// schema.unfolded: a stretch of a type's entities that were folded by other rules than the given ones, by id.
//
// params  type: STRING, live: BOOLEAN, projection: STRING, after: STRING, limit: INTEGER
// returns entities: LIST<STRING>, last: STRING
// mode    read
// index   entity_by_state (owner, type, live, id)
// cost    light
// `limit` bounds the entities that are read. `last` is the id after which the next stretch begins, null at the end.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(owner, type, live, id)
WHERE entity.owner = $owner AND entity.type = $type AND entity.live = $live AND entity.id > $after
WITH entity ORDER BY entity.owner, entity.type, entity.live, entity.id LIMIT $limit
WITH collect(entity) AS stretch
RETURN [entity IN stretch WHERE entity.merged_into IS NULL
    AND coalesce(entity.projection, '') <> coalesce($projection, '') | entity.id] AS entities,
  CASE size(stretch) WHEN $limit THEN last(stretch).id END AS last
