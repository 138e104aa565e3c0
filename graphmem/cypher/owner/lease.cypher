// owner.lease: let one caller run a job of an owner until a time, unless another one does.
//
// params  former: STRING, holder: STRING, now: INTEGER, until: INTEGER
// returns is_free: BOOLEAN, last_holder: STRING
// mode    write
// index   owner_id
// cost    light
// sealing last_holder: clear
// `former` is who ran it before and hands it on to `holder`. An owner who has written nothing has no node, and no job.
// A damaged time is compared with none, and keeps nobody waiting.
OPTIONAL MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner, coalesce(owner.leased_until <= $now, true) OR owner.leased_by IN [$former, $holder] AS is_free,
  owner.leased_by AS last_holder
FOREACH (leased IN CASE WHEN is_free THEN [owner] ELSE [] END |
  SET leased.leased_until = $until, leased.leased_by = $holder)
RETURN is_free, last_holder
