// audit.date_rules: replace what is stored of when the merges by rule of some entities held.
//
// params  rows: LIST<MAP>
// returns revision: INTEGER
// mode    write
// index   owner_id, entity_id
// cost    light
// A row is {subject_id, spans}, a span {into, alternative, from, until}. The revision tells turns that looked before that
// they must look again.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner
SET owner.revision = owner.revision + 1
WITH owner
CALL () {
  UNWIND $rows AS row
  MATCH (entity:Entity {id: row.subject_id})
  WHERE entity.owner = $owner
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
}
RETURN owner.revision AS revision
