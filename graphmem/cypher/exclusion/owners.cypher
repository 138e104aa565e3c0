// exclusion.owners: some owners of whom entities or relationships wait to be folded again because other observations
// count.
//
// params  only: STRING, limit: INTEGER
// returns owners: LIST<STRING>
// mode    read
// index   owner_refolding
// cost    light
// tenancy global: the worker folds for every owner
// `only` is an owner; null means all owners.
MATCH (owner:Owner)
USING INDEX SEEK owner:Owner(refolding)
WHERE owner.refolding = true AND ($only IS NULL OR owner.id = $only)
WITH owner LIMIT $limit
RETURN collect(owner.id) AS owners
