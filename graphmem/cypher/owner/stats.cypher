// owner.stats: the numbers of what an owner has, from the counters that the owner's lock protects.
//
// params  empty: STRING, model: STRING
// returns counts: LIST<LIST>, sequence: INTEGER, recorded_at: INTEGER, state_hash: STRING, pending: LIST<STRING>,
//         semantic_pending: INTEGER, events: INTEGER, sources: INTEGER,
//         interpretations: INTEGER, writers: LIST<LIST>
// mode    read
// index   owner_id, count_type (owner, kind, type), schema_head (owner, head), meaning_by_type (owner, type, model),
//         agent_by_owner (owner)
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
  MATCH (agent:Agent)
  USING INDEX SEEK agent:Agent(owner)
  WHERE agent.owner = $owner
  WITH agent, COUNT { (agent)<-[:BY_AGENT]-() } AS transactions ORDER BY transactions DESC, agent.id LIMIT 100
  RETURN collect([agent.thumbprint, agent.client, agent.by, transactions]) AS writers
}
RETURN counts, coalesce(owner.sequence, 0) AS sequence, coalesce(owner.recorded_at, 0) AS recorded_at,
  CASE WHEN owner IS NULL THEN $empty ELSE owner.state_hash END AS state_hash, pending, semantic_pending,
  coalesce(owner.events, 0) AS events, coalesce(owner.sources, 0) AS sources,
  coalesce(owner.interpretations, 0) AS interpretations, writers
