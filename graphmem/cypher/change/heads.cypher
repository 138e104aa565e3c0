// change.heads: how far some owners have written, in one read for all of them.
//
// params  owners: LIST<STRING>
// returns heads: LIST<LIST>
// mode    read
// index   owner_id
// cost    light
// tenancy global: one read of a process is for all owners whose changes somebody watches there
// An owner is settled while no withdrawal is being folded in: until then, what it changed is not known.
CALL () {
  UNWIND $owners AS id
  MATCH (owner:Owner {id: id})
  RETURN collect([owner.id, owner.node_key, owner.sequence, owner.revision, owner.recorded_at, owner.unstamped IS NULL
    AND owner.undated IS NULL AND NOT coalesce(owner.refolding, false) AND owner.erased_at IS NULL]) AS heads
}
RETURN heads
