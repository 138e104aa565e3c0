// What a copy in memory holds of an entity; in Python: graphmem.search.owner_copy.CopiedEntity. Takes `entity` and
// `meaning`. `listed` is null if answers no longer list the entity.
[entity.id, coalesce(entity.changed, 0), coalesce(meaning.changed, 0), entity.listed,
  coalesce(entity.last_observation_at, 0), entity.text, meaning.model, meaning.packed, entity.fields]
