// relationship.expand_as_of: one level of a walk as of two clocks: the entities one relationship away from some
// entities at that time.
//
// params  frontier: LIST<STRING>, origin: STRING, outgoing: BOOLEAN, incoming: BOOLEAN, hub: INTEGER,
//         through: BOOLEAN, most: INTEGER, after: STRING, room: INTEGER, at: INTEGER, at_ingested: INTEGER
// returns known: INTEGER, found: LIST<LIST>, total: INTEGER, links: INTEGER, hubs: LIST<STRING>, spent: INTEGER,
//         unexplored: INTEGER, revision: INTEGER
// mode    read
// index   owner_id, relationship_type_name, entity_id, observed_in_time (home, at)
// cost    heavy
// As relationship.expand, but edges of all relationships that ever existed are read, and the observations of each say
// whether it existed then. Later relationships make no entity a hub: if an entity has more than `hub` edges now, those
// that existed by then are counted, unless there are more than `most`.
OPTIONAL MATCH <relationship_type._gate>
WITH coalesce(gate.revision, 0) AS revision LIMIT 1
CALL () {
  <owner._known>
  RETURN known
}
MATCH (entity:Entity {id: $origin})
WHERE entity.owner = $owner
CALL (entity, known) {
  <entity._lived>
}
WITH revision, known WHERE lived
CALL (known) {
  UNWIND range(0, size($frontier) - 1) AS i
  MATCH (node:Entity {id: $frontier[i]})
  WHERE node.owner = $owner
  WITH known, i, node, COUNT { (node)--() } AS every
  CALL (node, every) {
    // No COUNT { } of these types: planning one of some 200 types takes the server minutes.
    WITH node WHERE every > $hub
    MATCH (node)-[edge:RELATIONSHIP_TYPES]-()
    RETURN count(edge) AS walkable
  }
  WITH known, i, node, CASE WHEN every <= $hub THEN every ELSE walkable END AS degree
  CALL (node, degree, known) {
    WITH node, known WHERE $hub < degree <= $most AND NOT $through
    MATCH (node)-[edge:RELATIONSHIP_TYPES]-()
    CALL (edge, known) {
      MATCH ()-[seen:OBSERVED]->()
      USING INDEX SEEK seen:OBSERVED(home, at)
      WHERE seen.home = edge.key AND seen.at <= $at AND seen.recorded_at <= known
      RETURN seen LIMIT 1
    }
    WITH seen LIMIT $hub + 1
    RETURN count(seen) AS by_then
  }
  WITH i, node, degree, CASE WHEN $hub < degree <= $most THEN by_then ELSE degree END AS relationships
  ORDER BY i
  RETURN collect([node, degree, $through OR relationships <= $hub]) AS nodes
}
WITH revision, known, [one IN nodes WHERE one[2]] AS passed, [one IN nodes WHERE NOT one[2] | one[0].id] AS hubs
WITH revision, known, passed, hubs, reduce(spent = [0, 0], one IN passed |
  CASE WHEN spent[0] + one[1] <= $most THEN [spent[0] + one[1], spent[1] + 1] ELSE [$most + 1, spent[1]] END) AS spent
WITH revision, known, hubs, spent[0] AS spent, size(passed) - spent[1] AS unexplored, passed[..spent[1]] AS taken
CALL (taken, known) {
  UNWIND taken AS one
  WITH one[0] AS node, known
  MATCH (node)-[edge:RELATIONSHIP_TYPES]-(entity)
  WHERE entity.owner = $owner AND entity.id > $after
    AND CASE WHEN startNode(edge) = node THEN $outgoing ELSE $incoming END
  WITH edge.key AS key, entity, known
  CALL (key, known) {
    <relationship._turn>
  }
  WITH key, entity, known WHERE turn[2] <> 'delete'
  WITH entity, known, collect(key) AS keys
  CALL (entity, known) {
    <entity._lived>
  }
  WITH entity.id AS id, keys WHERE lived
  ORDER BY id
  RETURN collect([id] + keys) AS found
}
RETURN known, found[..$room] AS found, size(found) AS total,
  reduce(links = 0, one IN found | links + size(one) - 1) AS links, hubs, spent, unexplored, revision
