// owner.stats: the numbers of an owner's entities, observations and relationships, from the counters that the owner's
// lock protects.
//
// params  empty: STRING, model: STRING
// returns counts: LIST<LIST>, sequence: INTEGER, recorded_at: INTEGER, state_hash: STRING, pending: LIST<STRING>,
//         semantic_pending: INTEGER, events: INTEGER, sources: INTEGER,
//         interpretations: INTEGER, writers: LIST<LIST>
// mode    read
// index   owner_id, count_type (owner, kind, type), schema_head (owner, head), meaning_by_type (owner, type, model),
//         event_by_time (owner, listed_at, id), source_by_recorded (owner, recorded_at, id),
//         interpretation_by_created (owner, created_at, id), agent_by_owner (owner)
// cost    light
OPTIONAL MATCH (owner:Owner {id: $owner})
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind IS NOT NULL AND counted.type IS NOT NULL
    AND (counted.known > 0 OR counted.recorded > 0)
  WITH counted ORDER BY counted.owner, counted.kind, counted.type
  RETURN collect([counted.kind, counted.type, counted.total, counted.observations]) AS counts
}
CALL (counts) {
  UNWIND [count IN counts WHERE count[0] = 'entity' | count[1]] AS type
  CALL (type) {
    MATCH (old:Meaning)
    USING INDEX SEEK old:Meaning(owner, type, model)
    WHERE old.owner = $owner AND old.type = type AND old.model < $model
    RETURN count(old) AS olds
    UNION ALL
    MATCH (old:Meaning)
    USING INDEX SEEK old:Meaning(owner, type, model)
    WHERE old.owner = $owner AND old.type = type AND old.model > $model
    RETURN count(old) AS olds
  }
  RETURN sum(olds) AS semantic_pending
}
CALL () {
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head IS NOT NULL AND head.pending
  WITH head ORDER BY head.head
  RETURN collect(head.head) AS pending
}
CALL () {
  MATCH (event:TimelineEvent)
  USING INDEX SEEK event:TimelineEvent(owner, listed_at, id)
  WHERE event.owner = $owner AND event.listed_at IS NOT NULL AND event.id IS NOT NULL
  RETURN count(event) AS events
}
CALL () {
  MATCH (source:Source)
  USING INDEX SEEK source:Source(owner, recorded_at, id)
  WHERE source.owner = $owner AND source.recorded_at IS NOT NULL AND source.id IS NOT NULL
  RETURN count(source) AS sources
}
CALL () {
  MATCH (interpretation:Interpretation)
  USING INDEX SEEK interpretation:Interpretation(owner, created_at, id)
  WHERE interpretation.owner = $owner AND interpretation.created_at IS NOT NULL AND interpretation.id IS NOT NULL
  RETURN count(interpretation) AS interpretations
}
CALL () {
  MATCH (agent:Agent)
  USING INDEX SEEK agent:Agent(owner)
  WHERE agent.owner = $owner
  WITH agent, COUNT { (agent)<-[:BY_AGENT]-() } AS transactions ORDER BY transactions DESC, agent.id LIMIT 100
  RETURN collect([agent.thumbprint, agent.client, agent.by, transactions]) AS writers
}
RETURN pending, counts, events, sources, interpretations, writers, semantic_pending, coalesce(owner.sequence, 0) AS sequence,
  coalesce(owner.recorded_at, 0) AS recorded_at,
  CASE WHEN owner IS NULL THEN $empty ELSE owner.state_hash END AS state_hash
