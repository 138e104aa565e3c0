// The entities at both ends of `relationship`, as `source` and `target`, where both live unless said.
MATCH (source:Entity {id: relationship.source})
WHERE source.live OR $include_deleted
MATCH (target:Entity {id: relationship.target})
WHERE target.live OR $include_deleted
