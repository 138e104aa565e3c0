// One interpretation; in Python: graphmem.reading.source_answers.InterpretationRow. Takes `interpretation`.
[interpretation.id, interpretation.source_id, interpretation.interpreter, interpretation.version,
 interpretation.config, interpretation.config_hash, interpretation.run, interpretation.model, interpretation.parser,
 interpretation.status, interpretation.error, coalesce(interpretation.warnings, []),
 coalesce(interpretation.attempts, 0),
 interpretation.created_at, interpretation.started_at, interpretation.recorded_at,
 coalesce(interpretation.observations, COUNT { (interpretation)<-[:BY_INTERPRETATION]-() }),
 coalesce(interpretation.entities, 0), coalesce(interpretation.relationships, 0), interpretation.replaces,
 size(coalesce(interpretation.excluded, [])) % 2 = 1,
 head(COLLECT { MATCH (transaction:Transaction)-[:ended]->(interpretation) RETURN transaction.id })]
