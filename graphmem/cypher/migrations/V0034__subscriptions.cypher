// Subscriptions: who is told of which changes. Those that are due are found by the time.
CREATE CONSTRAINT subscription_id IF NOT EXISTS FOR (n:Subscription) REQUIRE n.id IS UNIQUE;
CREATE INDEX subscription_due IF NOT EXISTS FOR (n:Subscription) ON (n.due_at);
