// meaning.place: put some vectors into the vector index that are in none yet.
//
// params  limit: INTEGER
// returns placed: INTEGER
// mode    write
// index   meaning_fresh (fresh, owner)
// cost    light
// tenancy global: the worker serves every owner; it moves their vectors into the index and tells nobody of them
// In the order of ids, as a turn of the writer takes them: neither waits for the other in a circle.
MATCH (meaning:Meaning)
USING INDEX SEEK meaning:Meaning(fresh, owner)
WHERE meaning.fresh > '' AND meaning.owner IS NOT NULL
WITH meaning LIMIT $limit
WITH meaning ORDER BY meaning.entity_id
SET meaning:Vector, meaning.fresh = null
RETURN count(meaning) AS placed
