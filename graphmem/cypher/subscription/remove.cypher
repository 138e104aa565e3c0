// subscription.remove: remove a subscription of an account; no row if the account has none of this id.
//
// params  account_id: STRING, id: STRING
// returns removed: BOOLEAN
// mode    write
// index   account_id
// cost    light
// tenancy global: subscriptions belong to the instance, and each is of one account
MATCH (account:Account {id: $account_id})-[:subscribed]->(subscription:Subscription)
WHERE subscription.id = $id
DETACH DELETE subscription
RETURN true AS removed
