// duplicate.counts: how many live entities of each type an owner has.
//
// params  none
// returns counts: LIST<LIST>
// mode    read
// index   count_type (owner, kind, type)
// cost    light
MATCH (counted:Count)
USING INDEX SEEK counted:Count(owner, kind, type)
WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IS NOT NULL AND counted.total > 0
RETURN collect([counted.type, counted.total]) AS counts
