// One level of a small walk. Takes and returns `revision`, `origin`, `levels`, `seen`, `frontier`, `budget` and
// `whole`. `budget` is the number of relationships that the walk may still read. If the level would pass a hub or
// exceed the budget, it is not walked, and the walk is not `whole`.
CALL (frontier) {
  UNWIND frontier AS node
  WITH COUNT { (node)--() } AS degree
  RETURN coalesce(max(degree), 0) AS greatest_degree, coalesce(sum(degree), 0) AS spent
}
WITH revision, origin, levels, seen, budget - spent AS budget,
  whole AND greatest_degree <= $hub AND spent <= budget AS whole, frontier
WITH revision, origin, levels, seen, budget, whole, CASE WHEN whole THEN frontier ELSE [] END AS frontier
CALL (frontier) {
  UNWIND frontier AS node
  MATCH (node)-[edge:RELATIONSHIP_TYPES]-(other)
  WHERE edge.live AND <relationship._followed> AND other.owner = $owner AND other.listed IS NOT NULL
    AND CASE WHEN startNode(edge) = node THEN $outgoing ELSE $incoming END
  WITH other, collect(edge.key) AS keys
  RETURN collect(other) AS reached, collect([other.id] + keys) AS level
}
WITH revision, origin, levels + [level] AS levels, seen + frontier AS seen, budget, whole, reached
WITH revision, origin, levels, seen, budget, whole,
  CASE WHEN size(levels) < $depth THEN [node IN reached WHERE NOT node IN seen] ELSE [] END AS frontier
