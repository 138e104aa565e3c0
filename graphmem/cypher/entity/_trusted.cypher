// Whether the index of filterable values holds a field of every one of some types: it is declared filterable, and no
// entity waits to be folded again. Takes `types` and `$field`.
size(types) = COUNT {
  UNWIND types AS type
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = type AND $field IN head.filterable AND head.pending IS NULL
}
