// The properties of an entity's row as a map, for <entity._columns>. Takes `entity`. A map reads them in one pass over the
// node; each property by itself would be a pass of its own.
entity {.id, .type, .canonical_name, .version, .observation_count, .created_at, .last_observation_at, .fields, .values,
  .winners, .live, .check, .own, .projection}
