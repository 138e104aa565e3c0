// subscription.note: set properties of a subscription, if the token is that of its last claim.
//
// params  id: STRING, token: STRING, properties: MAP
// returns noted: INTEGER
// mode    write
// index   subscription_id
// cost    light
// sealing properties: map subscription at id
// tenancy global: the worker delivers to the subscriptions of all owners; each delivery acts for one of them
// The first SET takes the lock: Neo4j does not evaluate a condition again after it waited for a lock.
MATCH (subscription:Subscription {id: $id})
SET subscription.locked = null
WITH subscription
WHERE subscription.token = $token
SET subscription += $properties
RETURN count(*) AS noted
