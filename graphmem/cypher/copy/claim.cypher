// copy.claim: take another copy for a lease; no row if somebody has it, or it is paused. `set_id`, `copy_id` and `source` are
// those of the account.
//
// params  id: STRING, now: INTEGER, latest: INTEGER, until: INTEGER, token: STRING
// returns copy: LIST, set_id: STRING, copy_id: STRING, source: STRING
// mode    write
// index   copy_id
// cost    light
// sealing set_id: clear, copy_id: clear, source: clear
// tenancy global: the worker exchanges facts for all owners; each exchange acts for one of them
// The first SET takes the lock of the node, so that the time is read again after another process had it.
MATCH (copy:Copy {id: $id})<-[:has_copy]-(account:Account)
SET copy.locked = null
WITH copy, account
WHERE copy.url IS NOT NULL AND copy.status <> 'paused'
  AND (copy.token IS NULL OR copy.due_at <= $now OR copy.due_at > $latest)
SET copy.due_at = $until, copy.token = $token
RETURN <copy._row> AS copy, account.set_id AS set_id, account.copy_id AS copy_id, account.copies_of AS source
