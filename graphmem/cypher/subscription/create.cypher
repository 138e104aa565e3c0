// subscription.create: store a subscription of an account to what its owner writes next; no row if there is no such
// account.
//
// params  account_id: STRING, id: STRING, properties: MAP
// returns subscription: LIST
// mode    write
// index   account_id, owner_id
// cost    light
// sealing properties: map subscription at id
// tenancy global: subscriptions belong to the instance, and each is of one account
MATCH (account:Account {id: $account_id})
OPTIONAL MATCH (owner:Owner {id: account.owner})
CREATE (account)-[:subscribed]->(subscription:Subscription {id: $id, account: account.id, owner: account.owner})
SET subscription += $properties, subscription += <subscription._beginning>,
  subscription.due_at = CASE subscription.delivery WHEN 'webhook' THEN 0 END
RETURN <subscription._row> AS subscription
