// schema.pending: the types of all owners whose entities wait to be folded by changed rules.
//
// params  only: STRING, limit: INTEGER
// returns pending: LIST<LIST>
// mode    read
// index   schema_pending
// cost    light
// tenancy global: the worker serves every owner; it reads ids and types of owners, and answers them to nobody
// `only` is an owner; null means all owners.
MATCH (head:Schema)
USING INDEX SEEK head:Schema(pending)
WHERE head.pending = true AND ($only IS NULL OR head.owner = $only)
WITH head LIMIT $limit
RETURN collect([head.owner, head.head, head.projection]) AS pending
