// copy.note: note how far the exchange with another copy is, if its last claim has this token.
//
// params  id: STRING, token: STRING, set_id: STRING, properties: MAP
// returns noted: INTEGER
// mode    write
// index   copy_id
// cost    light
// sealing properties: map copy at id, set_id: clear
// tenancy global: the worker exchanges facts for all owners; each exchange acts for one of them
// Of two sets that were put together the lesser id is that of both. The first SET takes the lock.
MATCH (copy:Copy {id: $id})<-[:has_copy]-(account:Account)
SET copy.locked = null
WITH copy, account
WHERE copy.token = $token
SET copy += $properties, account.set_id = CASE WHEN $set_id < account.set_id THEN $set_id ELSE account.set_id END
RETURN count(*) AS noted
