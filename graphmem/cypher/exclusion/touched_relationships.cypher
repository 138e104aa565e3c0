// exclusion.touched_relationships: one page of the relationships that may change when some subjects are withdrawn or
// reinstated, by key.
//
// params  subjects: LIST<STRING>, after: STRING, limit: INTEGER
// returns keys: LIST<STRING>, more: BOOLEAN
// mode    read
// index   source_id, interpretation_id, transaction_id, agent_by_owner (owner), split_id, entity_id, relationship_key, observed_in_time (home, at),
//         relationship_by_source and relationship_by_target (owner, end, last_observation_at, id)
// cost    heavy
// These are the relationships that its observations are about, and all of an entity that may appear or disappear: it is
// absent, or no other observation that counts gives it a value. A merged relationship is answered as its survivor.
CALL () {
  UNWIND $subjects AS subject_id
  <exclusion._observations>
  WITH DISTINCT CASE WHEN observation.relationship_key IS NOT NULL
    THEN coalesce(observation.moved_to, observation.relationship_key) END AS key
  MATCH (relationship:Relationship {key: key})
  WHERE relationship.owner = $owner
  MATCH (relationship)-[:SHOWN_AS*0..1]->(shown:Relationship)
  WHERE coalesce(shown.shown_as, '') = ''
  RETURN shown.key AS touched_key
  UNION
  UNWIND $subjects AS subject_id
  <exclusion._observations>
  WITH DISTINCT <observation._subject> AS id
  <exclusion._shown>
  WITH DISTINCT shown
  WHERE shown.merged_into = '' OR NOT EXISTS {
    MATCH (shown)<-[:MERGED_INTO*0..]-(member:Entity)
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = member.id AND seen.at IS NOT NULL AND <observation._seen_now>
      AND seen.kind IN <fact._value_kinds>
      AND NOT coalesce(observation.source_id IN $subjects, false)
      AND NOT coalesce(observation.interpretation_id IN $subjects, false)
      AND NOT EXISTS {
        MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)-[:BY_AGENT]->(agent:Agent)
        WHERE transaction.id IN $subjects OR any(id IN $subjects WHERE id STARTS WITH 'wrt_'
          AND substring(id, 44) IN agent.writers AND transaction.recorded_at >= toInteger(substring(id, 4, 20))
          AND transaction.recorded_at < toInteger(substring(id, 24, 20)))
      }
  }
  CALL (shown) {
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.source = shown.id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship
    UNION ALL
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.target = shown.id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship
  }
  WITH relationship WHERE relationship.shown_as IS NULL
  RETURN relationship.key AS touched_key
}
WITH touched_key WHERE touched_key > $after
WITH touched_key ORDER BY touched_key LIMIT $limit + 1
WITH collect(touched_key) AS following
RETURN following[..$limit] AS keys, size(following) > $limit AS more
