// One interpretation that ended with a transaction, as a record of a dump; in Python:
// graphmem.model.fact_records.InterpretationRecord. Takes `interpretation`.
[interpretation.id, interpretation.source_id, interpretation.interpreter, interpretation.version, interpretation.config,
 interpretation.run, interpretation.model, interpretation.parser, interpretation.created_at, interpretation.started_at,
 interpretation.error, interpretation.warnings, interpretation.observations, interpretation.entities, interpretation.relationships]
