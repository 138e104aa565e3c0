// One relationship with its current metadata; in Python: graphmem.reading.shared_rows.RelationshipRow. The map reads all
// properties in one pass over the node; each property by itself would be a pass of its own.
[row IN [relationship {.key, .id, .type, .source, .target, .live, .version, .observation_count, .created_at,
  .last_observation_at, .fields, .values, .winners, .check, .own, .refold}] |
  [row.key, row.id, row.type, row.source, row.target, row.live, row.version, row.observation_count, row.created_at,
   row.last_observation_at, row.fields, row.values, row.winners, row.check, row.own, row.refold]][0]
