// Dumps read an owner's transactions in the order in which they were recorded, wherever that was.
CREATE INDEX transaction_by_recorded IF NOT EXISTS FOR (n:Transaction) ON (n.owner, n.recorded_at, n.id);
