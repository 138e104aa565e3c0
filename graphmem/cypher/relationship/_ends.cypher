// The entities at both ends of `relationship`, as `source` and `target`. Only live ones, unless `$include_deleted`.
// With `$entity_type`, at least one of the two is of that type.
MATCH (source:Entity {id: relationship.source})
WHERE source.live OR $include_deleted AND coalesce(source.merged_into, '-') <> ''
MATCH (target:Entity {id: relationship.target})
WHERE (target.live OR $include_deleted AND coalesce(target.merged_into, '-') <> '')
  AND ($entity_type IS NULL OR $entity_type IN [source.type, target.type])
