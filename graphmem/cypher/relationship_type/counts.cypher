// relationship_type.counts: how many live relationships of some types an owner has, from counters.
//
// params  types: LIST<STRING>
// returns counts: LIST<LIST>
// mode    read
// index   count_type (owner, kind, type)
// cost    light
MATCH (counted:Count)
USING INDEX SEEK counted:Count(owner, kind, type)
WHERE counted.owner = $owner AND counted.kind = 'relationship' AND counted.type IN $types
RETURN collect([counted.type, counted.total]) AS counts
