// The relationships of `entity` to others that are not erased yet: those without observations. Takes `entity`.
UNWIND $relationship_types AS type
MATCH (relationship:Relationship)
USING INDEX SEEK relationship:Relationship(key)
WHERE relationship.key STARTS WITH type + ':' + entity.id + ':'
