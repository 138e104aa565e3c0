// Up to where a copy in memory follows an owner, as `state`; in Python: graphmem.search.owner_copy.OwnerState. Null
// if there is no such owner.
CALL () {
  OPTIONAL MATCH (owner:Owner {id: $owner})
  RETURN CASE WHEN owner IS NOT NULL THEN [coalesce(owner.node_key, ''), coalesce(owner.changed, [0, 0]),
    coalesce(owner.vectors_changed, 0), coalesce(owner.passages_changed, [0, 0])] END AS state
}
