// One file of a transaction as a record of a dump; in Python: graphmem.model.fact_records.SourceRecord. Takes `source` and
// `stored`.
[source.id, source.content_hash, source.size, source.mime_type, stored.name, stored.declared_type,
 stored.file_key]
