// copy.link: keep another copy that an account exchanges facts with, or change what is kept of it; no row if there is no such
// account.
//
// params  account_id: STRING, id: STRING, properties: MAP
// returns copy: LIST
// mode    write
// index   account_id, copy_id
// cost    light
// sealing properties: map copy at id
// tenancy global: copies belong to the instance, and each is of one account
// Of two sets that are put together the lesser id is that of both.
MATCH (account:Account {id: $account_id})
MERGE (copy:Copy {id: $id})
ON CREATE SET copy.account = account.id, copy.owner = account.owner, copy.cursor = '', copy.pushed = 0, copy.node_key = '',
  copy.files = 'now', copy.failures = 0, copy.sent = 0, copy.taken = 0
MERGE (account)-[:has_copy]->(copy)
SET copy += $properties, copy.owner = account.owner,
  account.set_id = CASE WHEN copy.status = 'active' AND copy.peer_set < account.set_id THEN copy.peer_set
    ELSE account.set_id END
RETURN <copy._row> AS copy
