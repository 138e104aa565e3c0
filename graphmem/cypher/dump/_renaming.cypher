// One renaming of a transaction as a record of a dump; in Python: graphmem.model.fact_records.Renaming. Takes
// `renaming`.
[renaming.id, renaming.relationship_type, renaming.name]
