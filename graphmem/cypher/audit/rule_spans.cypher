// audit.rule_spans: what some entities are merged into by rule now, and when they were merged by rule.
//
// params  entity_ids: LIST<STRING>
// returns merges: LIST<LIST>
// mode    read
// index   entity_id
// cost    light
// A row is [entity id, into, alternative, spans]; a span is a graphmem.model.membership.RuleSpan. What was never merged by
// rule has no row.
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND (entity.merged_by IS NOT NULL OR EXISTS { (entity)-[:ruled]->() })
RETURN collect([id, CASE WHEN entity.merged_by IS NOT NULL THEN entity.merged_into END, entity.merged_by,
  COLLECT {
    MATCH (entity)-[span:ruled]->(into:Entity)
    RETURN [id, into.id, span.from, coalesce(span.until, <fact._latest>), span.alternative]
  }]) AS merges
