// Whether the wanted writers wrote the observation that set an event. Takes `event`.
EXISTS {
    MATCH (observation:Observation {id: event.observation_id})
    WHERE <observation._by_writers>
  }
