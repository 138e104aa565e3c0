// The columns of a transaction from which a repeated request is answered.
[transaction.id, transaction.idempotency_key, transaction.request_hash, transaction.recorded_at, transaction.answer]
