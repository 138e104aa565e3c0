// event.pending: the types of an owner whose entities, and their events, are yet to be folded under the rules of today.
//
// params  none
// returns pending: LIST<LIST>
// mode    read
// index   schema_waiting (owner, pending)
// cost    light
<event._pending>
RETURN pending
