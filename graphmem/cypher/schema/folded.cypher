// schema.folded: record that every entity of a type is folded by the present rules, if these are still the given ones.
//
// params  type: STRING, projection: STRING
// returns done: BOOLEAN
// mode    write
// index   schema_head (owner, head)
// cost    light
// The first SET takes the lock and changes nothing: the rules are compared after it, so that a change meanwhile is
// seen.
MATCH (head:Schema)
USING INDEX SEEK head:Schema(owner, head)
WHERE head.owner = $owner AND head.head = $type
SET head.locked = null
WITH head WHERE coalesce(head.projection, '') = coalesce($projection, '')
SET head.pending = null
RETURN true AS done
