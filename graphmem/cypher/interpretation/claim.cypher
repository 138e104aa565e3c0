// interpretation.claim: take the interpretation that is due for the longest time; no row if none is due.
//
// params  now: INTEGER, latest: INTEGER, lease: INTEGER, token: STRING, only: STRING
// returns owner: STRING, interpretation: LIST, client: STRING, agent: STRING, by: STRING, account: STRING, token: STRING
// mode    write
// index   interpretation_due (due_at)
// cost    light
// sealing account: clear, agent: clear
// tenancy global: the worker interprets the sources of all owners; each run acts for one of them
// The first SET takes the lock of the node, so that the time is read again after another process had it.
// Nothing waits longer than until `latest`: what is due later was written before the clock was set back.
MATCH (due:Interpretation)
USING INDEX SEEK due:Interpretation(due_at)
WHERE (due.due_at <= $now OR due.due_at > $latest) AND ($only IS NULL OR due.owner = $only)
WITH due ORDER BY due.due_at LIMIT 1
SET due.locked = true
WITH due AS interpretation WHERE due.due_at <= $now OR due.due_at > $latest
SET interpretation.due_at = $now + $lease, interpretation.status = 'running', interpretation.token = $token,
  interpretation.attempts = coalesce(interpretation.attempts, 0) + 1,
  interpretation.started_at = $now
RETURN interpretation.owner AS owner, <interpretation._row> AS interpretation, interpretation.client AS client,
  interpretation.agent AS agent, interpretation.by AS by, interpretation.account AS account, interpretation.token AS token
