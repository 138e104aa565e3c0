// dump.merged: record that an entity was merged into another at some time, so that reads look at the observations of
// both.
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
