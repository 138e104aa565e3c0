// dump.merged: record that an entity was once merged into another, so that a reader finds the facts of both.
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
