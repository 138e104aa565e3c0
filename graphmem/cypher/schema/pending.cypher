// schema.pending: the types, of all owners, whose entities are to be folded under rules that have changed.
//
// params  limit: INTEGER
// returns pending: LIST<LIST>
// mode    read
// index   schema_pending
// cost    light
// tenancy global: the worker serves every owner; what it reads is their ids and types, and goes to nobody
MATCH (head:Schema)
USING INDEX SEEK head:Schema(pending)
WHERE head.pending = true
WITH head LIMIT $limit
RETURN collect([head.owner, head.head, head.projection]) AS pending
