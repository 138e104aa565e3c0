// The columns of a transaction from which its answer is given again.
[transaction.id, transaction.idempotency_key, transaction.request_hash, transaction.recorded_at,
 transaction.sequence, transaction.answer]
