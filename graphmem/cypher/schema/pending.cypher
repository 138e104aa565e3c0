// schema.pending: the types of all owners whose entities wait to be folded by changed rules.
//
// params  limit: INTEGER
// returns pending: LIST<LIST>
// mode    read
// index   schema_pending
// cost    light
// tenancy global: the worker serves every owner; it reads ids and types of owners, and answers them to nobody
MATCH (head:Schema)
USING INDEX SEEK head:Schema(pending)
WHERE head.pending = true
WITH head LIMIT $limit
RETURN collect([head.owner, head.head, head.projection]) AS pending
