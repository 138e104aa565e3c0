// In the form `written`: keep `observation` only if the wanted writers wrote it; `$writers` are keys of agents
// (graphmem.model.attribution). Takes `observation`.
  // only written
  AND EXISTS {
    MATCH (observation)-[:IN_TRANSACTION|also_in]->(:Transaction)-[:BY_AGENT]->(agent:Agent)
    WHERE all(writer IN $writers WHERE writer IN agent.writers)
  }
  // end
