// interpretation.made: what the transactions of an interpretation made so far.
//
// params  interpretation_id: STRING
// returns observations: INTEGER, entities: INTEGER, relationships: INTEGER
// mode    read
// index   interpretation_id
// cost    heavy
MATCH (interpretation:Interpretation {id: $interpretation_id})
WHERE interpretation.owner = $owner
MATCH (interpretation)<-[:BY_INTERPRETATION]-(observation:Observation)
RETURN count(observation) AS observations, count(DISTINCT <observation._subject>) AS entities,
  count(DISTINCT observation.relationship_key) AS relationships
