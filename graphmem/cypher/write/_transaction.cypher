// What a replay needs of a transaction.
[transaction.id, transaction.idempotency_key, transaction.request_hash, transaction.recorded_at,
 transaction.sequence, transaction.answer]
