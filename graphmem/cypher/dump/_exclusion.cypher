// One exclusion of a transaction as a record of a dump; in Python: graphmem.model.fact_records.Withdrawal. Takes
// `exclusion`.
[exclusion.id, exclusion.kind, exclusion.subject_kind, exclusion.subject, exclusion.reason]
