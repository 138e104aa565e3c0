// meaning.place: put some new vectors into the vector index.
//
// params  limit: INTEGER
// returns placed: INTEGER
// mode    write
// index   meaning_fresh (fresh, owner)
// cost    light
// tenancy global: the worker serves every owner; it moves vectors into the index and answers none of them
// Vectors are locked in the order of ids, as in a turn of the writer, so that the two never wait for each other in a
// circle. The first SET takes the lock and changes nothing, as in meaning.set: a turn may have removed the vector
// before.
MATCH (meaning:Meaning)
USING INDEX SEEK meaning:Meaning(fresh, owner)
WHERE meaning.fresh > '' AND meaning.owner IS NOT NULL
WITH meaning LIMIT $limit
WITH meaning ORDER BY meaning.entity_id
SET meaning.locked = null
WITH meaning WHERE meaning.fresh IS NOT NULL
SET meaning:Vector, meaning.fresh = null
RETURN count(meaning) AS placed
