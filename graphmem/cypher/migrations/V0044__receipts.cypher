// Receipts: what somebody was told, and the observations behind it. They are listed by owner and time, and dropped by time.
CREATE CONSTRAINT receipt_id IF NOT EXISTS FOR (n:Receipt) REQUIRE n.id IS UNIQUE;
CREATE INDEX receipt_by_time IF NOT EXISTS FOR (n:Receipt) ON (n.owner, n.at, n.id);
CREATE INDEX receipt_at IF NOT EXISTS FOR (n:Receipt) ON (n.at);
