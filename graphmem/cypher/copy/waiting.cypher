// copy.waiting: other copies with an address whose exchange is due, or whose owner has written since the last one; and the owner
// of the account of this machine's user, which another process may have had join a copy.
//
// params  now: INTEGER, latest: INTEGER, account_id: STRING
// returns copies: LIST<LIST>, local_owner: STRING
// mode    read
// index   copy_due (due_at), owner_id, account_id
// cost    light
// sealing local_owner: clear
// tenancy global: the worker exchanges facts for all owners; each exchange acts for one of them
// None waits longer than until `latest`: what is due later was written before the clock was set back.
CALL () {
  MATCH (copy:Copy)
  USING INDEX SEEK copy:Copy(due_at)
  WHERE copy.due_at >= 0
  OPTIONAL MATCH (owner:Owner {id: copy.owner})
  WITH copy, owner, owner.sequence > copy.pushed OR owner.node_key <> copy.node_key AS has_news
  WHERE copy.due_at <= $now OR copy.due_at > $latest OR copy.failures = 0 AND copy.token IS NULL AND has_news
  MATCH (account:Account)-[:has_copy]->(copy)
  RETURN collect([<copy._row>, account.copy_id, account.copies_of, coalesce(has_news, false)]) AS copies
}
OPTIONAL MATCH (account:Account {id: $account_id})
RETURN copies, coalesce(account.owner, $account_id) AS local_owner
