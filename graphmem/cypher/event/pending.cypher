// event.pending: the types of an owner whose entities and events wait to be folded by changed rules.
//
// params  none
// returns pending: LIST<LIST>
// mode    read
// index   schema_waiting (owner, pending)
// cost    light
<event._pending>
RETURN pending
