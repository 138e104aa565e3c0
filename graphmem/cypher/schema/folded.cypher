// schema.folded: note that every entity of a type is folded under its rules, if those are still the same.
//
// params  type: STRING, projection: STRING
// returns done: BOOLEAN
// mode    write
// index   schema_head (owner, head)
// cost    light
// The first SET takes the lock and changes nothing: rules that come meanwhile are seen after it, and not before.
MATCH (head:Schema)
USING INDEX SEEK head:Schema(owner, head)
WHERE head.owner = $owner AND head.head = $type
SET head.locked = null
WITH head WHERE coalesce(head.projection, '') = coalesce($projection, '')
SET head.pending = null
RETURN true AS done
