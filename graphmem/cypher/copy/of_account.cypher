// copy.of_account: the set of copies that an account's data is in, and the other copies that it exchanges facts with.
//
// params  account_id: STRING
// returns set_id: STRING, copy_id: STRING, source: STRING, node_key: STRING, sequence: INTEGER, copies: LIST<LIST>
// mode    read
// index   account_id, owner_id
// cost    light
// sealing set_id: clear, copy_id: clear, source: clear
// tenancy global: copies belong to the instance, and each is of one account
MATCH (account:Account {id: $account_id})
OPTIONAL MATCH (owner:Owner {id: account.owner})
RETURN account.set_id AS set_id, account.copy_id AS copy_id, account.copies_of AS source,
  toStringOrNull(owner.node_key) AS node_key, coalesce(owner.sequence, 0) AS sequence,
  COLLECT {
    MATCH (account)-[:has_copy]->(copy:Copy)
    WITH copy ORDER BY copy.created_at, copy.id
    RETURN <copy._row>
  } AS copies
