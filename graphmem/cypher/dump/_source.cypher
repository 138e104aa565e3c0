// One file of a transaction as a record of a dump; in Python: graphmem.model.fact_records.SourceRecord. Takes `source`,
// `stored` and `transaction`.
[source.id, source.content_hash, source.size, source.mime_type, <source._stored_name>,
 head([placed IN [[source.id + ' ' + transaction.id, stored.declared_type]] | <entity._placed>]), stored.file_key]
