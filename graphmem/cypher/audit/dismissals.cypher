// audit.dismissals: all facts that say of two entities that they are two, or may be one again.
//
// params  none
// returns dismissals: LIST<LIST>
// mode    read
// index   dismissal_pair (owner, entity_a, entity_b)
// cost    heavy
// A row is [id, kind, entity_a, entity_b, recorded_at].
MATCH (dismissal:Dismissal)
USING INDEX SEEK dismissal:Dismissal(owner, entity_a, entity_b)
WHERE dismissal.owner = $owner AND dismissal.entity_a IS NOT NULL AND dismissal.entity_b IS NOT NULL
RETURN collect([dismissal.id, dismissal.kind, dismissal.entity_a, dismissal.entity_b, dismissal.recorded_at])
  AS dismissals
