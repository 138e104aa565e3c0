// copy.remove: exchange no more facts with another copy, or with any for an empty id; the set ends for the account with its last
// one.
//
// params  account_id: STRING, id: STRING
// returns removed: INTEGER
// mode    write
// index   account_id, owner_id
// cost    light
// tenancy global: copies belong to the instance, and each is of one account
MATCH (account:Account {id: $account_id})
SET account.locked = true
WITH account, [(account)-[:has_copy]->(copy:Copy) | copy] AS copies
WITH account, copies, [copy IN copies WHERE $id IN ['', copy.id, copy.peer]] AS gone
OPTIONAL MATCH (owner:Owner {id: account.owner})
FOREACH (copy IN gone | DETACH DELETE copy)
FOREACH (each IN CASE size(copies) - size(gone) WHEN 0 THEN [account] ELSE [] END |
  SET each.set_id = null, each.copy_id = null, each.copies_of = null, owner.reads_from = null)
RETURN size(gone) AS removed
