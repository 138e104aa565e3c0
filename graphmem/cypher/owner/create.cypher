// owner.create: create the node of an owner before the owner's first write.
//
// params  state_hash: STRING
// returns created: BOOLEAN
// mode    write
// index   owner_id
// cost    light
MERGE (owner:Owner {id: $owner})
ON CREATE SET owner.sequence = 0, owner.revision = 0, owner.recorded_at = 0, owner.state_hash = $state_hash
RETURN true AS created
