// entity.find: the live entities that some normalised identifiers name, strongest kind of identifier first; a merged
// entity is answered as its survivor.
//
// params  pairs: LIST<LIST>, kinds: LIST<STRING>, types: LIST<STRING>, limit: INTEGER
// returns hits: LIST<LIST>, totals: LIST<INTEGER>
// mode    read
// index   identifier_value (owner, kind, value): one seek for each pair, also on a miss
// cost    light
// A pair is [kind, value]. `kinds` is sorted by strength. No types means every type. `hits` are [entity, index of its
// strongest kind in `kinds`]. `totals` counts the entities of each kind, in the order of `kinds`; an entity counts
// for its strongest kind only. Those that were so named formerly follow, in the same order of kinds.
CALL () {
  <search._exact>
}
WITH entity, strength ORDER BY strength, entity.id
WITH collect([entity, strength]) AS matches
WITH matches, [pair IN matches[..$limit] | pair[0]] AS entities
WITH matches, entities, [entity IN entities | entity.size] AS sizes
WITH matches, entities, <entity._fitting> AS fitting
CALL (matches, entities, fitting) {
  UNWIND matches[..CASE WHEN fitting < size(entities) THEN fitting ELSE size(entities) END] AS pair
  WITH pair[0] AS entity, pair[1] AS strength
  RETURN collect([<entity._row>, strength]) AS page
}
RETURN page AS hits, [i IN range(0, size($kinds) - 1) + range(100, 99 + size($kinds)) | size([pair IN matches WHERE pair[1] = i])] AS totals
