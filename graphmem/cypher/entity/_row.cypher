// One entity with its current snapshot; in Python: graphmem.reading.shared_rows.EntityRow. The last part is the head of
// its type's schema: the rules by which the snapshot must be folded, the registered version, and whether another rule of
// identity is being applied.
[map IN [<entity._map>] | [<entity._columns>]][0] +
 [COLLECT {
   MATCH (head:Schema)
   USING INDEX SEEK head:Schema(owner, head)
   WHERE head.owner = $owner AND head.head = entity.type
   RETURN [head.projection, head.active_version, head.regroups]
 }]
