// interpretation.enqueue: add an interpretation of a source to the queue, unless it is known; return it as it is then.
//
// params  id: STRING, source_id: STRING, properties: MAP
// returns interpretation: LIST
// mode    write
// index   owner_id, source_id, interpretation_id
// cost    light
// sealing properties: map interpretation at id
// The first SET takes the owner's lock, as of a turn, so that the owner counts the interpretation once.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner
MATCH (source:Source {id: $source_id})
WHERE source.owner = $owner
MERGE (interpretation:Interpretation {id: $id})
ON CREATE SET interpretation = $properties, interpretation.id = $id,
  owner.interpretations = owner.interpretations + 1
MERGE (interpretation)-[:of]->(source)
RETURN <interpretation._row> AS interpretation
