// audit.date_rules: replace what is stored of when the merges by rule of some entities held.
//
// params  rows: LIST<MAP>
// returns revision: INTEGER
// mode    write
// index   owner_id, entity_id
// cost    light
// sealing rows: map merge_dates
// A row is {subject_id, stored, spans}, a span {into, alternative, from, until}. `stored` are the spans that were read, as
// [into, alternative, from, until]: where a turn wrote others meanwhile, they stay. The version of an entity counts when
// its merges began and ended: all that was ever merged with one of the rows is folded again. The revision tells turns that
// looked before that they must look again.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner
SET owner.revision = owner.revision + 1, owner.refolding = true
WITH owner
CALL () {
  UNWIND $rows AS row
  MATCH (entity:Entity {id: row.subject_id})
  WHERE entity.owner = $owner
  WITH row, entity, COLLECT {
    MATCH (entity)-[span:ruled]->(into:Entity)
    RETURN [into.id, span.alternative, span.from, coalesce(span.until, -1)] AS columns ORDER BY columns
  } AS stored
  WHERE stored = row.stored
  CALL (entity) {
    MATCH (entity)-[former:ruled]->(:Entity)
    DELETE former
  }
  CALL (row, entity) {
    UNWIND row.spans AS dated
    MATCH (into:Entity {id: dated.into})
    WHERE into.owner = $owner
    CREATE (entity)-[span:ruled]->(into)
    SET span.alternative = dated.alternative, span.from = dated.from, span.until = dated.until
    MERGE (entity)-[:MERGED]->(into)
  }
  WITH entity
  MATCH (entity)-[:MERGED*0..]-(merged:Entity)
  WHERE merged.owner = $owner
  WITH DISTINCT merged
  SET merged.refold = coalesce(merged.refold, 0) + 1, merged.projection = 'withdrawn'
}
RETURN owner.revision AS revision
