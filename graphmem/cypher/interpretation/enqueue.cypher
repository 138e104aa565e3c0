// interpretation.enqueue: add an interpretation of a source to the queue, unless it is known; return it as it is then.
//
// params  id: STRING, source_id: STRING, properties: MAP
// returns interpretation: LIST
// mode    write
// index   source_id, interpretation_id
// cost    light
MATCH (source:Source {id: $source_id})
WHERE source.owner = $owner
MERGE (interpretation:Interpretation {id: $id})
ON CREATE SET interpretation = $properties, interpretation.id = $id
MERGE (interpretation)-[:of]->(source)
RETURN <interpretation._row> AS interpretation
