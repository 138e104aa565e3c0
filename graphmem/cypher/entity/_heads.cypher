// The rules of some types, as [type, projection]. Takes `types`.
COLLECT {
  UNWIND types AS type
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = type
  RETURN [type, head.projection]
} AS heads
