// audit.dated: note that it was worked out when merges by rule of an owner held; no row if a later write made that
// uncertain again.
//
// params  undated: INTEGER
// returns revision: INTEGER
// mode    write
// index   owner_id
// cost    light
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner WHERE owner.undated = $undated
SET owner.undated = null, owner.unordered = null
RETURN owner.revision AS revision
