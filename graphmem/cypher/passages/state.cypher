// passages.state: up to where an owner's data goes, the passages too; null if there is no such owner.
//
// params  none
// returns state: LIST
// mode    read
// index   owner_id
// cost    light
<search._state>
RETURN state
