// owner.create: create the node of an owner before the owner's first write; no row if the account that writes is gone, is
// being deleted with its data, or has another owner now.
//
// params  state_hash: STRING, account_id: STRING
// returns created: BOOLEAN
// mode    write
// index   owner_id, account_id
// cost    light
// `account_id` is empty where no account writes, as in a restore. A process that was started before the account of this machine's user took another owner over is refused. The SET takes the lock of the account before it is
// read, so that a deletion of the account comes entirely before or entirely after this statement. The node key tells a
// copy in memory that its owner was erased and created again.
CALL () {
  OPTIONAL MATCH (account:Account {id: $account_id})
  FOREACH (each IN CASE WHEN account IS NULL THEN [] ELSE [account] END | SET each.locked = true)
  WITH account
  WHERE $account_id = ''
    OR (account IS NOT NULL AND account.erased_at IS NULL AND account.owner = $owner)
  RETURN count(*) AS allowed
}
OPTIONAL MATCH (local:Account {id: $owner})
WITH allowed, local WHERE allowed > 0 AND coalesce(local.owner = $owner, true)
MERGE (owner:Owner {id: $owner})
ON CREATE SET owner.sequence = 0, owner.revision = 0, owner.recorded_at = 0, owner.state_hash = $state_hash,
  owner.node_key = randomUUID(), owner.events = 0, owner.sources = 0, owner.interpretations = 0
RETURN true AS created
