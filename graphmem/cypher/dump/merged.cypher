// dump.merged: note that an entity was once merged into another, so that the facts of it are found.
//
// params  source: STRING, target: STRING
// returns noted: BOOLEAN
// mode    write
// index   entity_id
// cost    light
MATCH (source:Entity {id: $source})
WHERE source.owner = $owner
MATCH (target:Entity {id: $target})
WHERE target.owner = $owner
MERGE (source)-[:MERGED]->(target)
RETURN true AS noted
