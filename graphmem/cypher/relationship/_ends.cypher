// The entities at both ends of `relationship`, as `source` and `target`: live ones, unless `$include_deleted`. One of
// them is of `$entity_type`, where that is given.
MATCH (source:Entity {id: relationship.source})
WHERE source.live OR $include_deleted
MATCH (target:Entity {id: relationship.target})
WHERE (target.live OR $include_deleted)
  AND ($entity_type IS NULL OR $entity_type IN [source.type, target.type])
