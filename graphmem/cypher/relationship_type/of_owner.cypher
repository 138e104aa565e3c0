// relationship_type.of_owner: what relationship_type.all answers, how many live relationships of each type an owner has,
// from counters, and the other names that the owner gave to types, the newest last.
//
// params  none
// returns revision: INTEGER, types: LIST<LIST>, counts: LIST<LIST>, renamings: LIST<LIST>
// mode    read
// index   relationship_type_name, count_type (owner, kind, type), renaming_by_name (owner, name)
// cost    light
// A type that is counted, and that is neither shipped nor registered, is the owner's own. The counter of a type stays
// when its relationships are deleted.
<relationship_type._registered>
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind = 'relationship' AND counted.type IS NOT NULL
  RETURN collect([counted.type, counted.total]) AS counts
}
CALL () {
  MATCH (renaming:Renaming)
  USING INDEX SEEK renaming:Renaming(owner, name)
  WHERE renaming.owner = $owner AND renaming.name IS NOT NULL
  WITH renaming ORDER BY renaming.recorded_at, renaming.id
  RETURN collect([renaming.name, renaming.relationship_type]) AS renamings
}
RETURN revision, types, counts, renamings
