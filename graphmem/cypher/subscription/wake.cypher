// subscription.wake: have a subscription go on after its place, or after all that is written if that is other data; no
// row if the account has none of this id.
//
// params  account_id: STRING, id: STRING, properties: MAP
// returns subscription: LIST
// mode    write
// index   account_id, owner_id
// cost    light
// sealing properties: map subscription at id
// tenancy global: subscriptions belong to the instance, and each is of one account
MATCH (account:Account {id: $account_id})-[:subscribed]->(subscription:Subscription)
WHERE subscription.id = $id
OPTIONAL MATCH (owner:Owner {id: account.owner})
SET subscription += $properties, subscription.token = null,
  subscription.due_at = CASE subscription.delivery WHEN 'webhook' THEN 0 END,
  subscription += CASE WHEN subscription.node_key IN ['', owner.node_key] THEN {} ELSE <subscription._beginning> END
RETURN <subscription._row> AS subscription
