// One relationship with its current metadata; in Python: graphmem.reading.shared_rows.RelationshipRow.
[relationship.key, relationship.id, relationship.type, relationship.source, relationship.target,
 relationship.live, relationship.version, relationship.observation_count, relationship.created_at,
 relationship.last_observation_at, relationship.fields, relationship.values, relationship.winners,
 relationship.check, relationship.own]
