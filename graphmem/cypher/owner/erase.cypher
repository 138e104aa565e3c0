// owner.erase: erase the counters and the node of an owner, after everything else.
//
// params  none
// returns erased: BOOLEAN
// mode    write
// index   owner_id, count_type (owner, kind, type)
// cost    light
MATCH (owner:Owner {id: $owner})
WITH owner WHERE owner.erased_at IS NOT NULL
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind IS NOT NULL AND counted.type IS NOT NULL
  DETACH DELETE counted
}
DETACH DELETE owner
RETURN true AS erased
