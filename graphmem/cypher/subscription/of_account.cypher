// subscription.of_account: the subscriptions of an account, newest first, those that sleep included.
//
// params  account_id: STRING
// returns subscription: LIST
// mode    read
// index   account_id
// cost    light
// tenancy global: subscriptions belong to the instance, and each is of one account
MATCH (account:Account {id: $account_id})-[:subscribed]->(subscription:Subscription)
WITH subscription ORDER BY subscription.created_at DESC, subscription.id
RETURN <subscription._row> AS subscription
