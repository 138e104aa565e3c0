// change.place: the id and the time of the transaction at a place of an owner's order, and what tells the owner's node from another.
//
// params  sequence: INTEGER
// returns node_key: STRING, transaction_id: STRING, recorded_at: INTEGER
// mode    read
// index   owner_id, transaction_sequence (owner, sequence)
// cost    light
MATCH (owner:Owner {id: $owner})
OPTIONAL MATCH (transaction:Transaction {owner: $owner, sequence: $sequence})
RETURN toStringOrNull(owner.node_key) AS node_key, transaction.id AS transaction_id,
  transaction.recorded_at AS recorded_at
