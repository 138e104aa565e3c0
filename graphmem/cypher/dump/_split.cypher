// One split of a transaction as a record of a dump; in Python: graphmem.model.fact_records.Split. Takes `split`.
[split.id, split.source, split.target, split.observations, split.subjects, split.reason]
