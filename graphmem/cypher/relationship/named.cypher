// relationship.named: the key of the relationship with an id; no row if it is not the owner's.
//
// params  id: STRING
// returns key: STRING
// mode    read
// index   relationship_id
// cost    light
MATCH (relationship:Relationship {id: $id})
WHERE relationship.owner = $owner
RETURN relationship.key AS key
