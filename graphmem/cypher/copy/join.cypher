// copy.join: have an account that has no facts take over the owner and the set of another copy; no row if it has facts, or
// another account has that owner.
//
// params  account_id: STRING, owner_id: STRING, set_id: STRING, copy_id: STRING, source: STRING,
//         state_hash: STRING
// returns joined: BOOLEAN
// mode    write
// index   account_id, account_owner, owner_id
// cost    light
// sealing set_id: clear, copy_id: clear, source: clear
// tenancy global: copies belong to the instance, and each is of one account
// `source` is empty unless the copy only reads: the node of the owner says so to the writer. The first SET takes the lock of the account.
MATCH (account:Account {id: $account_id})
SET account.locked = true
WITH account
OPTIONAL MATCH (owner:Owner {id: account.owner})
OPTIONAL MATCH (taken:Owner {id: $owner_id})
OPTIONAL MATCH (other:Account {owner: $owner_id})
WITH account, owner, taken, other
WHERE account.erased_at IS NULL AND coalesce(owner.sequence, 0) = 0 AND coalesce(taken.sequence, 0) = 0
  AND coalesce(other.id = account.id, true)
SET account.owner = $owner_id, account.set_id = $set_id, account.copy_id = $copy_id,
  account.copies_of = CASE $source WHEN '' THEN null ELSE $source END
FOREACH (each IN CASE $source WHEN '' THEN [] ELSE [$source] END |
  MERGE (made:Owner {id: $owner_id})
  ON CREATE SET made.sequence = 0, made.revision = 0, made.recorded_at = 0, made.state_hash = $state_hash,
    made.node_key = randomUUID(), made.events = 0, made.sources = 0, made.interpretations = 0
  SET made.reads_from = each
)
RETURN true AS joined
