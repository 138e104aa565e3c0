// One subscription; in Python: graphmem.changes.stored_subscriptions.Subscription. Takes `subscription`.
[subscription.id, subscription.owner, subscription.account, subscription.credential, subscription.signer,
  subscription.wanted, subscription.delivery, subscription.webhook_url, subscription.secret, subscription.node_key,
  subscription.sequence, subscription.part, subscription.status, subscription.failures, subscription.max_failures,
  subscription.last_error, subscription.last_delivered_at, subscription.due_at, subscription.created_at, subscription.clock,
  subscription.query]
