// The columns of an entity or a relationship that a turn reads; in Python: graphmem.writing.things.ThingRow. Takes
// `thing`.
thing.version, thing.updated_at, thing.observation_count, thing.created_at, thing.last_observation_at, thing.fields, thing.values,
thing.winners, thing.ranks, thing.turn, thing.check, thing.own, thing.parts,
thing.unmade, thing.refold, thing.evidence, thing.separated, thing.distinct_from, thing.merged_by,
thing.merge_rule, thing.parting, thing.canonical_name
