// The head of one schema with the counts of its type; in Python: graphmem.reading.schema_rows.StoredSchemaRow. Takes
// `schema`, which may be null, `type` and `counted`.
[type, schema.active_version, schema.document, coalesce(schema.fields, []), coalesce(schema.seen, []),
 schema.updated_at, coalesce(counted.total, 0), coalesce(counted.observations, 0)]
