// owner.create: make an owner's node before its first write.
//
// params  none
// returns created: BOOLEAN
// mode    write
// index   owner_id
// cost    light
MERGE (owner:Owner {id: $owner})
ON CREATE SET owner.sequence = 0, owner.recorded_at = 0, owner.schema_epoch = 0
RETURN true AS created
