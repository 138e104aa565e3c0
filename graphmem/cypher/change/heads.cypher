// change.heads: how far some owners have written, in one read for all of them.
//
// params  owners: LIST<STRING>
// returns heads: LIST<LIST>
// mode    read
// index   owner_id
// cost    light
// tenancy global: one read of a process is for all owners whose changes somebody watches there
// The last column says whether what the last withdrawal changed is wholly known: it is noted on every observation when it
// counts. A changed rule changes earlier merges as well, but tells no change.
CALL () {
  UNWIND $owners AS id
  MATCH (owner:Owner {id: id})
  RETURN collect([owner.id, coalesce(toStringOrNull(owner.node_key), ''), owner.sequence, owner.revision, owner.recorded_at,
    owner.unstamped IS NULL]) AS heads
}
RETURN heads
