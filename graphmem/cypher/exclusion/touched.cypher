// exclusion.touched: what the observations of some subjects are about: one page of the entities that show it, by id, and
// how many observations, entities and relationships there are, and receipts that they are behind.
//
// params  subjects: LIST<STRING>, after: STRING, limit: INTEGER
// returns entities: LIST<STRING>, more: BOOLEAN, observations: INTEGER, entity_count: INTEGER,
//         relationship_count: INTEGER, receipts: INTEGER
// mode    read
// index   source_id, interpretation_id, transaction_id, agent_by_owner (owner), split_id, entity_id,
//         observation_id, relationship_key
// cost    heavy
// A merged entity is shown by its survivor. The page ends early if its values are large.
CALL () {
  UNWIND $subjects AS subject_id
  <exclusion._observations>
  RETURN count(DISTINCT observation) AS observations, collect(DISTINCT <observation._subject>) AS entity_ids,
    count(DISTINCT observation.relationship_key) AS relationship_count
}
CALL (entity_ids) {
  UNWIND entity_ids AS id
  <exclusion._shown>
  WITH DISTINCT shown ORDER BY shown.id
  WITH collect(shown) AS every
  WITH size(every) AS entity_count, [shown IN every WHERE shown.id > $after][..$limit + 1] AS following
  RETURN entity_count, following[..$limit] AS page, size(following) > $limit AS longer
}
CALL () {
  UNWIND $subjects AS subject_id
  <receipt._of>
  RETURN count(DISTINCT receipt) AS receipts
}
WITH *, [shown IN page | coalesce(shown.size, 0)] AS sizes
WITH *, <entity._fitting> AS fitting
RETURN [shown IN page[..fitting] | shown.id] AS entities, longer OR fitting < size(page) AS more, observations,
  entity_count, relationship_count, receipts
