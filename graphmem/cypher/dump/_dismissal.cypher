// One dismissal of a transaction as a record of a dump; in Python: graphmem.model.fact_records.Dismissal. Takes
// `dismissal`.
[dismissal.id, dismissal.kind, dismissal.entity_a, dismissal.entity_b, dismissal.reason]
