// In the form `written`: keep `relationship` only if the wanted writers wrote an observation of it that counts;
// `$writers` are keys of agents (graphmem.model.attribution). Takes `relationship`.
  // only written
  AND EXISTS {
    MATCH (relationship)-[:HAS_HISTORY]->(:History)-[:OBSERVED]->(observation:Observation)
    WHERE <observation._counts_now>
      <observation._written>
  }
  // end
