// One source with the names that stores gave it, the last 20, newest first; in Python: graphmem.reading.source_answers.SourceRow.
// Takes `source`.
[source.id, source.content_hash, source.size, source.mime_type, source.recorded_at,
 COUNT { (source)<-[:FROM_SOURCE]-(:Observation) }, size(coalesce(source.excluded, [])) % 2 = 1,
 COLLECT {
   MATCH (source)<-[stored:stored]-(transaction:Transaction)
   WITH stored, transaction ORDER BY stored.recorded_at DESC, transaction.id DESC LIMIT 20
   RETURN [<source._stored_name>,
     head([placed IN [[source.id + ' ' + transaction.id, stored.declared_type]] | <entity._placed>]), stored.recorded_at, transaction.id, transaction.client,
     head(COLLECT { MATCH (transaction)-[:BY_AGENT]->(agent:Agent) RETURN agent.thumbprint }), transaction.by]
 }]
