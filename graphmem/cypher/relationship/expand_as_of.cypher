// relationship.expand_as_of: one level of a walk as of two clocks: the entities that were one live relationship away
// from some entities at that time.
//
// params  frontier: LIST<STRING>, origin: STRING, outgoing: BOOLEAN, incoming: BOOLEAN, hub: INTEGER,
//         types: LIST<STRING>, through: BOOLEAN, most: INTEGER, after: STRING, room: INTEGER, at: INTEGER, at_ingested: INTEGER,
//         by_writer: BOOLEAN
// returns origin: LIST, neighbours: LIST<LIST>, total: INTEGER, links: INTEGER, hubs: LIST<STRING>, spent: INTEGER,
//         unexplored: INTEGER, revision: INTEGER, dated: LIST<LIST>
// mode    read
// index   owner_id, relationship_type_name, entity_id, observed_in_time (home, at)
// cost    heavy
// Parameters and columns are those of relationship.expand. The edges of all relationships that ever existed are read,
// and the observations of each say whether it was live then. Relationships that were recorded later make no entity a
// hub: if an entity has more than `hub` edges now, its relationships of that time are counted, unless it has more
// than `most` edges. Relationships whose dates say when they held are in `neighbours` whether they were there or not:
// `dated` has [key, turns] of those that are answered, and the caller leaves some out (graphmem.model.valid_time).
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
  WITH known, i, node, COUNT { (node)--() } AS edges
  CALL (node, edges) {
    // No COUNT { } of these types: planning one of some 200 types takes the server minutes.
    WITH node WHERE edges > $hub
    MATCH (node)-[edge:RELATIONSHIP_TYPES]-()
    WHERE <relationship._followed>
    RETURN count(edge) AS walkable
  }
  WITH known, i, node, CASE WHEN edges <= $hub THEN edges ELSE walkable END AS degree
  CALL (node, degree, known) {
    WITH node, known WHERE $hub < degree <= $most AND NOT $through
    MATCH (node)-[edge:RELATIONSHIP_TYPES]-()
    WHERE <relationship._followed>
    CALL (edge, known) {
      MATCH ()-[seen:OBSERVED]->()
      USING INDEX SEEK seen:OBSERVED(home, at)
      WHERE seen.home = edge.key AND seen.at <= $at AND <observation._learned>
      RETURN seen LIMIT 1
    }
    WITH seen LIMIT $hub + 1
    RETURN count(seen) AS by_then
  }
  WITH i, node, degree, CASE WHEN $hub < degree <= $most THEN by_then ELSE degree END AS relationships
  ORDER BY i
  RETURN collect([node, degree, $through OR relationships <= $hub]) AS nodes
}
WITH revision, known, [entry IN nodes WHERE entry[2]] AS passable,
  [entry IN nodes WHERE NOT entry[2] | entry[0].id] AS hubs
WITH revision, known, passable, hubs, reduce(spent = [0, 0], entry IN passable |
  CASE WHEN spent[0] + entry[1] <= $most THEN [spent[0] + entry[1], spent[1] + 1]
    ELSE [$most + 1, spent[1]] END) AS spent
WITH revision, known, hubs, spent[0] AS spent, size(passable) - spent[1] AS unexplored,
  passable[..spent[1]] AS expanded
CALL (expanded, known) {
  UNWIND expanded AS entry
  WITH entry[0] AS node, known
  MATCH (node)-[edge:RELATIONSHIP_TYPES]-(entity)
  WHERE <relationship._followed> AND entity.owner = $owner AND entity.id > $after
    AND CASE WHEN startNode(edge) = node THEN $outgoing ELSE $incoming END
  WITH edge.key AS subject_id, entity, known
  CALL (subject_id, known) {
    <relationship._turn>
  }
  WITH entity, known, subject_id, turns, size(turns) = 1 AND size(turns[0][0][0]) = 0 AS is_undated
  WHERE any(turn IN turns WHERE turn[1] IS NOT NULL)
    AND (NOT is_undated OR turns[0][1][2] <> 'delete' AND (turns[0][2] = 0 OR turns[0][3] > 0))
  WITH entity, known, collect(subject_id) AS keys,
    collect(CASE WHEN NOT is_undated THEN [subject_id, turns] END) AS dated
  CALL (entity, known) {
    <entity._lived>
  }
  WITH entity.id AS id, keys, dated WHERE lived
  ORDER BY id
  RETURN collect([id] + keys) AS neighbours, collect(dated) AS dated
}
RETURN null AS origin, neighbours[..$room] AS neighbours, size(neighbours) AS total,
  reduce(links = 0, neighbour IN neighbours | links + size(neighbour) - 1) AS links, hubs, spent, unexplored, revision,
  reduce(every = [], each IN dated[..$room] | every + each) AS dated
