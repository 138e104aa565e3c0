// entity.find: the live entities with one of some normalised identifiers, the strongest kind of identifier first; a
// merged entity is answered as its survivor.
//
// params  pairs: LIST<LIST>, kinds: LIST<STRING>, types: LIST<STRING>, limit: INTEGER
// returns found: LIST<LIST>, totals: LIST<INTEGER>
// mode    read
// index   identifier_value (owner, kind, value): one seek for each pair, also on a miss
// cost    light
// A pair is [kind, value]. `kinds` is in the order of their strength. No types means every type. `totals` counts the
// entities of each kind, in that order; an entity counts for its strongest kind only.
CALL () {
  <search._exact>
}
WITH entity, strength ORDER BY strength, entity.id
WITH collect([entity, strength]) AS named
WITH named, [pair IN named[..$limit] | pair[0]] AS found
WITH named, found, [one IN found | one.size] AS sizes
WITH named, found, <entity._fitting> AS fitting
CALL (named, found, fitting) {
  UNWIND named[..CASE WHEN fitting < size(found) THEN fitting ELSE size(found) END] AS pair
  WITH pair[0] AS entity, pair[1] AS strength
  RETURN collect([<entity._row>, strength]) AS page
}
RETURN page AS found, [i IN range(0, size($kinds) - 1) | size([pair IN named WHERE pair[1] = i])] AS totals
