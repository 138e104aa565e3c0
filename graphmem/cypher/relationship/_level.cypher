// One level of a small walk. Takes and returns `revision`, `origin`, `levels`, `seen`, `frontier`, `left` and `whole`.
// The level is not walked if it would pass a hub, or read more than `left` relationships: then the walk is not
// `whole`.
CALL (frontier) {
  UNWIND frontier AS node
  WITH COUNT { (node)--() } AS every
  RETURN coalesce(max(every), 0) AS greatest, coalesce(sum(every), 0) AS spent
}
WITH revision, origin, levels, seen, left - spent AS left, whole AND greatest <= $hub AND spent <= left AS whole, frontier
WITH revision, origin, levels, seen, left, whole, CASE WHEN whole THEN frontier ELSE [] END AS frontier
CALL (frontier) {
  UNWIND frontier AS node
  MATCH (node)-[edge:RELATIONSHIP_TYPES]-(other)
  WHERE edge.live AND other.owner = $owner AND other.listed IS NOT NULL
    AND CASE WHEN startNode(edge) = node THEN $outgoing ELSE $incoming END
  WITH other, collect(edge.key) AS keys
  RETURN collect(other) AS reached, collect([other.id] + keys) AS found
}
WITH revision, origin, levels + [found] AS levels, seen + frontier AS seen, left, whole, reached
WITH revision, origin, levels, seen, left, whole,
  CASE WHEN size(levels) < $depth THEN [node IN reached WHERE NOT node IN seen] ELSE [] END AS frontier
