// One exclusion of a transaction as a record of a dump; in Python: graphmem.dump.stored.StoredExclusion. Takes
// `exclusion`.
[exclusion.id, exclusion.kind, exclusion.subject_kind, exclusion.subject, exclusion.reason]
