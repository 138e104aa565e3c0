// relationship.of_entity_as_of: the keys of one page of the relationships at one entity as of two clocks, newest
// first, and their total; no row if the entity is not the owner's, or was deleted then.
//
// params  entity_id: STRING, outgoing: BOOLEAN, incoming: BOOLEAN, type: STRING, other: STRING,
//         include_deleted: BOOLEAN, offset: INTEGER, limit: INTEGER, at: INTEGER, at_ingested: INTEGER
// returns keys: LIST<STRING>, others: LIST<STRING>, total: INTEGER, known: INTEGER
// mode    read
// index   owner_id, entity_id, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id),
//         observed_in_time (home, at)
// cost    light
// The order is that of then, so all of the entity's own are asked. What was recorded later was not there.
<owner._known>
MATCH (entity:Entity {id: $entity_id})
WHERE entity.owner = $owner
CALL (entity, known) {
  <entity._lived>
}
WITH known WHERE lived OR $include_deleted
CALL (known) {
  CALL (known) {
    MATCH (relationship:Relationship)
    WHERE $outgoing AND relationship.owner = $owner AND relationship.source = $entity_id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship, relationship.target AS far
    UNION ALL
    MATCH (relationship:Relationship)
    WHERE $incoming AND relationship.owner = $owner AND relationship.target = $entity_id
      AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    RETURN relationship, relationship.source AS far
  }
  WITH known, relationship, far WHERE relationship.created_at <= known
    AND ($type IS NULL OR relationship.type = $type) AND ($other IS NULL OR far = $other)
  MATCH (entity:Entity {id: far})
  CALL (entity, known) {
    <entity._lived>
  }
  WITH known, relationship, far WHERE lived OR $include_deleted
  WITH known, relationship.key AS key, relationship.id AS id, far
  CALL (key, known) {
    <relationship._turn>
  }
  WITH key, id, far, turn, last WHERE turn[2] <> 'delete' OR ($include_deleted AND turn IS NOT NULL)
  ORDER BY last DESC, id DESC
  RETURN collect([key, far]) AS found
}
WITH known, size(found) AS total, found[$offset..$offset + $limit] AS page
RETURN [one IN page | one[0]] AS keys, [one IN page | one[1]] AS others, total, known
