// passages.state: the number of the last change of an owner's passages, and how many sources it changed; no row if there is
// no such owner.
//
// params  none
// returns state: LIST
// mode    read
// index   owner_id
// cost    light
<search._state>
RETURN state
