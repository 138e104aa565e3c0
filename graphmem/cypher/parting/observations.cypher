// parting.observations: the observations of an address and its parts, and those of relationships at them, with what they
// say of the person.
//
// params  entity_ids: LIST<STRING>, fields: LIST<STRING>
// returns observations: LIST<LIST>
// mode    read
// index   observed_in_time (home, at), relationship_by_source and relationship_by_target (owner, end, last_observation_at, id)
// cost    heavy
// `entity_ids` are the address and the parts of it that are known: the observations of the address are among theirs. A row
// is [id, what it was stored for, what it counts for in place of that, kind, identity basis, names, values,
// transactions]. Graphmem.writing.parting reads `fields`, in lower case without blanks, hyphens and underscores.
CALL () {
  UNWIND $entity_ids AS home
  CALL (home) {
    RETURN home AS subject_id
    UNION
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.source = home AND relationship.last_observation_at IS NOT NULL
      AND relationship.id IS NOT NULL
    RETURN relationship.key AS subject_id
    UNION
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
    WHERE relationship.owner = $owner AND relationship.target = home AND relationship.last_observation_at IS NOT NULL
      AND relationship.id IS NOT NULL
    RETURN relationship.key AS subject_id
  }
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = subject_id AND seen.at IS NOT NULL AND observation.owner = $owner
  RETURN collect(DISTINCT observation) AS stored
}
UNWIND stored AS observation
WITH observation, head([lists IN [[observation.fields, observation.values]] |
  [i IN range(0, size(lists[0]) - 1) WHERE observation.identity_basis IS NOT NULL AND (lists[0][i] IN $fields OR
    toLower(replace(replace(replace(lists[0][i], ' ', ''), '-', ''), '_', '')) IN $fields)
  | [lists[0][i], head([placed IN [[observation.id, lists[1][i]]] | <entity._placed>])]]]) AS pairs
RETURN collect([observation.id, coalesce(observation.entity_id, observation.relationship_key), observation.part,
  observation.kind, observation.identity_basis, [pair IN pairs | pair[0]], [pair IN pairs | pair[1]],
  COLLECT { MATCH (observation)-[:IN_TRANSACTION|also_in]->(transaction:Transaction) RETURN transaction.id }]) AS observations
