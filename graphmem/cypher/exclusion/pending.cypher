// exclusion.pending: how many entities and relationships wait to be folded again because other observations count.
//
// params  none
// returns pending: INTEGER
// mode    read
// index   owner_id, entity_refold (owner, refold, id), relationship_refold (owner, refold, id)
// cost    light
<exclusion._pending>
RETURN pending
