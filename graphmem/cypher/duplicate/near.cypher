// duplicate.near: for each of some entities the live ones that share an exact identifier with it, or whose
// names stand next to its own in the order of names.
//
// params  probes: LIST<MAP>, reach: INTEGER, compared: LIST<STRING>
// returns near: LIST<LIST>, found: LIST<LIST>
// mode    read
// index   identifier_value (owner, kind, value): a seek for each value, a short range on both sides of each name
// cost    light
// What a store creates is looked for by the statement that writes it (write.turn); this is for what is only planned.
<duplicate._near>
