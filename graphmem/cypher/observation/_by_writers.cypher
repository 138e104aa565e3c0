// Whether the wanted writers wrote an observation, or recorded it too; `$writers` are keys of agents
// (graphmem.model.attribution). Takes `observation`.
EXISTS {
    MATCH (observation)-[:IN_TRANSACTION|also_in]->(:Transaction)-[:BY_AGENT]->(agent:Agent)
    WHERE all(writer IN $writers WHERE writer IN agent.writers)
  }
