// The entities at both ends of `relationship`, as `source` and `target`, where both live unless said.
MATCH (source:Entity {id: relationship.source})
USING INDEX source:Entity(id)
WHERE source.live OR $include_deleted
MATCH (target:Entity {id: relationship.target})
USING INDEX target:Entity(id)
WHERE target.live OR $include_deleted
