// duplicate.near: the live entities near some entities: those that share an exact identifier, and those with
// neighbouring names.
//
// params  probes: LIST<MAP>, reach: INTEGER, compared: LIST<STRING>
// returns near: LIST<LIST>, profiles: LIST<LIST>
// mode    read
// index   identifier_value (owner, kind, value): a seek for each value, a short range on both sides of each name
// cost    light
// A store runs it after its commit, for the entities that it created. A store with `commit: false` runs it too.
<duplicate._near>
