// exclusion.owners: some owners of whom entities or relationships wait to be folded again because other observations
// count.
//
// params  limit: INTEGER
// returns owners: LIST<STRING>
// mode    read
// index   owner_refolding
// cost    light
// tenancy global: the worker folds for every owner
MATCH (owner:Owner)
USING INDEX SEEK owner:Owner(refolding)
WHERE owner.refolding = true
WITH owner LIMIT $limit
RETURN collect(owner.id) AS owners
