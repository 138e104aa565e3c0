// One schema with the counts of its type; domain side: graphmem.operations.answers.SchemaRow.
[schema.entity_type, schema.version, schema.fields, schema.seen, schema.updated_at,
 coalesce(counted.total, 0), coalesce(counted.observations, 0)]
