// dismissal.of_entities: the dismissed pairs that have an end among some entities or among the members of these.
//
// params  entity_ids: LIST<STRING>
// returns dismissals: LIST<LIST>
// mode    read
// index   entity_id, dismissal_by_a (owner, entity_a, entity_b), dismissal_by_b (owner, entity_b, entity_a)
// cost    light
// The newest dismissal of a pair decides. A row is [entity_a, entity_b, survivor of a, survivor of b, dismissal id,
// recorded_at, reason, agent]; an entity that the database lacks is its own survivor.
// An owner without a dismissal costs one seek, however many entities there are.
CALL () {
  MATCH (first:Dismissal)
  USING INDEX SEEK first:Dismissal(owner, entity_a, entity_b)
  WHERE first.owner = $owner AND first.entity_a IS NOT NULL AND first.entity_b IS NOT NULL
  RETURN first LIMIT 1
}
CALL (first) {
  UNWIND $entity_ids AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  MATCH (entity)<-[:MERGED_INTO*0..]-(member:Entity)
  CALL (member) {
    MATCH (dismissal:Dismissal)
    USING INDEX SEEK dismissal:Dismissal(owner, entity_a, entity_b)
    WHERE dismissal.owner = $owner AND dismissal.entity_a = member.id AND dismissal.entity_b IS NOT NULL
    RETURN dismissal
    UNION
    MATCH (dismissal:Dismissal)
    USING INDEX SEEK dismissal:Dismissal(owner, entity_b, entity_a)
    WHERE dismissal.owner = $owner AND dismissal.entity_b = member.id AND dismissal.entity_a IS NOT NULL
    RETURN dismissal
  }
  WITH DISTINCT dismissal
  WITH dismissal ORDER BY dismissal.recorded_at DESC, dismissal.id DESC
  WITH dismissal.entity_a AS a, dismissal.entity_b AS b, collect(dismissal)[0] AS newest
  WHERE newest.kind = 'dismiss'
  RETURN a, b, newest
}
OPTIONAL MATCH (:Entity {id: a})-[:MERGED_INTO*0..]->(survivor_a:Entity)
WHERE survivor_a.owner = $owner AND coalesce(survivor_a.merged_into, '') = ''
OPTIONAL MATCH (:Entity {id: b})-[:MERGED_INTO*0..]->(survivor_b:Entity)
WHERE survivor_b.owner = $owner AND coalesce(survivor_b.merged_into, '') = ''
OPTIONAL MATCH (newest)-[:IN_TRANSACTION]->(:Transaction)-[:BY_AGENT]->(agent:Agent)
RETURN collect([a, b, coalesce(survivor_a.id, a), coalesce(survivor_b.id, b), newest.id, newest.recorded_at,
  head([placed IN [[newest.id, newest.reason]] | <entity._placed>]), agent.thumbprint]) AS dismissals
