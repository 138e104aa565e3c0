// One transaction as a record of a dump; in Python: graphmem.model.fact_records.TransactionRecord. Takes `transaction`.
[transaction.id, transaction.recorded_at, transaction.operation, transaction.client,
 head(COLLECT { MATCH (transaction)-[:BY_AGENT]->(agent:Agent) RETURN agent.thumbprint }),
 transaction.by, coalesce(transaction.idempotency_key, transaction.lost_key), transaction.request_hash, transaction.answer,
 transaction.expected, transaction.learned_at]
