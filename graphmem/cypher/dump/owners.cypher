// dump.owners: a stretch of the owners of the database that have written something, by id. Owners whose data is being erased
// are left out.
//
// params  after: STRING, limit: INTEGER
// returns owners: LIST<STRING>, last: STRING
// mode    read
// index   owner_id
// cost    light
// tenancy global: a dump of the database holds every owner; only a local command makes one
// `limit` bounds how many owners are read. `last` is the id to continue after, null at the end.
MATCH (owner:Owner)
USING INDEX SEEK owner:Owner(id)
WHERE owner.id > $after
WITH owner ORDER BY owner.id LIMIT $limit
WITH collect(owner) AS stretch
RETURN [owner IN stretch WHERE owner.sequence > 0 AND owner.erased_at IS NULL | owner.id] AS owners,
  CASE size(stretch) WHEN $limit THEN last(stretch).id END AS last
