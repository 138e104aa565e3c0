// meaning.place: put some vectors into the vector index that are in none yet.
//
// params  limit: INTEGER
// returns placed: INTEGER
// mode    write
// index   meaning_fresh (fresh, owner)
// cost    light
// tenancy global: the worker serves every owner; it moves their vectors into the index and tells nobody of them
// In the order of ids, as a turn of the writer takes them: neither waits for the other in a circle. The first SET takes
// the lock and changes nothing, as in meaning.set: what a turn wrote meanwhile may have no vector.
MATCH (meaning:Meaning)
USING INDEX SEEK meaning:Meaning(fresh, owner)
WHERE meaning.fresh > '' AND meaning.owner IS NOT NULL
WITH meaning LIMIT $limit
WITH meaning ORDER BY meaning.entity_id
SET meaning.locked = null
WITH meaning WHERE meaning.fresh IS NOT NULL
SET meaning:Vector, meaning.fresh = null
RETURN count(meaning) AS placed
