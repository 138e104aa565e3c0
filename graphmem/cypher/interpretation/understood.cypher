// interpretation.understood: the entities that an interpretation has observations of, by type, how many passages its source
// has, and what of an earlier version of a table is not in it.
//
// params  interpretation_id: STRING, source_id: STRING, is_table: BOOLEAN
// returns types: LIST<LIST>, passages: INTEGER, source_id: STRING, missing: LIST<LIST>, total: INTEGER
// mode    read
// index   interpretation_id, entity_id, passages_source, observed_in_time (home, at)
// cost    heavy
// Of a table, `source_id` is the newest other source whose rows most of its first 50 rows are, null if there is none. `missing`
// are the first 20 of the rows that only that one has, as [entity, name], and `total` is how many these are.
CALL () {
  MATCH (interpretation:Interpretation {id: $interpretation_id})
  WHERE interpretation.owner = $owner
  MATCH (interpretation)<-[:BY_INTERPRETATION]-(observation:Observation)
  WITH DISTINCT <observation._subject> AS id WHERE id IS NOT NULL
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  WITH entity.type AS type, count(entity) AS entities ORDER BY entities DESC, type
  RETURN collect([type, entities]) AS types
}
CALL () {
  MATCH (interpretation:Interpretation {id: $interpretation_id})
  WHERE $is_table AND interpretation.owner = $owner
  CALL (interpretation) {
    MATCH (interpretation)<-[:BY_INTERPRETATION]-(observation:Observation)
    RETURN collect(DISTINCT <observation._subject>) AS ids
  }
  CALL (interpretation, ids) {
    WITH interpretation, ids[..50] AS first
    UNWIND first AS id
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    USING INDEX SEEK seen:OBSERVED(home, at)
    WHERE seen.home = id AND seen.at IS NOT NULL
    MATCH (observation)-[:BY_INTERPRETATION]->(other:Interpretation)
    WHERE other.source_id <> interpretation.source_id
      AND size(coalesce(other.excluded, [])) % 2 = 0
    WITH other, size(first) AS most, count(DISTINCT id) AS shared WHERE 2 * shared > most
    RETURN other ORDER BY other.recorded_at DESC, other.id DESC LIMIT 1
  }
  CALL (other) {
    MATCH (other)<-[:BY_INTERPRETATION]-(observation:Observation)
    RETURN collect(DISTINCT <observation._subject>) AS earlier
  }
  UNWIND [id IN ids | [id, 1]] + [id IN earlier | [id, 0]] AS pair
  WITH other, pair[0] AS id, max(pair[1]) AS is_here WHERE is_here = 0
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  WITH other, entity ORDER BY entity.id
  RETURN max(other.source_id) AS source_id, collect([entity.id, <entity._short_name>])[..20] AS missing,
    count(entity) AS total
}
OPTIONAL MATCH (passages:Passages {source_id: $source_id})
WHERE passages.owner = $owner
RETURN types, coalesce(size(passages.texts), 0) AS passages, source_id, missing, total
