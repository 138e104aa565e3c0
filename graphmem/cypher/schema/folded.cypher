// schema.folded: record that every entity of a type is folded by the present rules; no row if these are no longer the
// given ones.
//
// params  type: STRING, projection: STRING
// returns done: BOOLEAN
// mode    write
// index   schema_head (owner, head)
// cost    light
// The first SET takes the lock and changes nothing. The rules are compared after it, so that a change before the lock
// is seen.
MATCH (head:Schema)
USING INDEX SEEK head:Schema(owner, head)
WHERE head.owner = $owner AND head.head = $type
SET head.locked = null
WITH head WHERE coalesce(head.projection, '') = coalesce($projection, '')
SET head.pending = null, head.regroups = null
RETURN true AS done
