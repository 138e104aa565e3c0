// interpretation.postpone: set when an interpretation is due, if the token is that of its last claim and it has not ended.
//
// params  id: STRING, token: STRING, due_at: INTEGER, status: STRING, error: STRING
// returns done: INTEGER
// mode    write
// index   interpretation_id
// cost    light
// sealing error: sealed at id
// The first SET takes the lock and changes nothing: a transaction may end the interpretation before, and Neo4j does
// not evaluate a condition again after it waited for a lock.
MATCH (interpretation:Interpretation {id: $id})
WHERE interpretation.owner = $owner
SET interpretation.locked = null
WITH interpretation
WHERE interpretation.token = $token AND interpretation.due_at IS NOT NULL
SET interpretation.due_at = $due_at, interpretation.status = $status,
  interpretation.error = coalesce($error, interpretation.error)
RETURN count(*) AS done
