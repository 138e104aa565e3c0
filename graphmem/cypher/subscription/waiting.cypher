// subscription.waiting: subscriptions that are due, and whose owner has written after their place or that look at the clock;
// those that failed come last.
//
// params  now: INTEGER, latest: INTEGER, limit: INTEGER
// returns ids: LIST<STRING>
// mode    read
// index   subscription_due (due_at), owner_id
// cost    light
// tenancy global: the worker delivers to the subscriptions of all owners; each delivery acts for one of them
// None waits longer than until `latest`: what is due later was written before the clock was set back.
MATCH (subscription:Subscription)
USING INDEX SEEK subscription:Subscription(due_at)
WHERE subscription.due_at <= $now OR subscription.due_at > $latest
MATCH (owner:Owner {id: subscription.owner})
WHERE owner.sequence > subscription.sequence OR subscription.part < 999999999 OR subscription.wakes_at <= $now
  OR subscription.wakes_at > $latest
  OR subscription.node_key <> '' AND subscription.node_key <> owner.node_key
WITH subscription.id AS id, subscription.due_at AS due ORDER BY due LIMIT $limit
RETURN collect(id) AS ids
