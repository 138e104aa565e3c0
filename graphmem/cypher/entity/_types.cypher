// The entity types of an owner, as `types`, and how many entities they have, as `total`; -1 if merged or absent
// entities count too. Takes `$types` (none means all), `$include_deleted`, `$include_merged` and
// `$include_absent`.
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IS NOT NULL
    AND (size($types) = 0 OR counted.type IN $types)
  RETURN collect(counted.type) AS types, CASE WHEN $include_merged OR $include_absent THEN -1
    ELSE sum(CASE WHEN $include_deleted THEN counted.known ELSE counted.total END) END AS total
}
