// source.get: one source with a page of the entities that were observed from it, by id, after one of them, and the number of these
// entities; no row if the source is not the owner's.
//
// params  source_id: STRING, at: INTEGER, at_ingested: INTEGER, by_writer: BOOLEAN, after: STRING, offset: INTEGER,
//         limit: INTEGER
// returns entities: LIST<STRING>, total: INTEGER, known: INTEGER
// mode    read
// index   owner_id, entity_id
// cost    light
<owner._known>
MATCH (source:Source {id: $source_id})
WHERE source.owner = $owner
CALL (source, known) {
  MATCH (source)<-[:FROM_SOURCE]-(observation:Observation)<-[seen:OBSERVED]-(:History)
  WHERE observation.entity_id IS NOT NULL AND observation.observed_at <= $at AND <observation._learned>
    AND <observation._counts>
  WITH DISTINCT seen.home AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  CALL (entity, known) {
    <entity._lived>
  }
  WITH id WHERE lived
  ORDER BY id
  RETURN collect(id) AS ids
}
RETURN [id IN ids WHERE id > $after][$offset..$offset + $limit] AS entities, size(ids) AS total, known
