// interpretation.by_id: one interpretation; no row if the owner has none of this id.
//
// params  interpretation_id: STRING
// returns interpretation: LIST
// mode    read
// index   interpretation_id
// cost    light
MATCH (interpretation:Interpretation {id: $interpretation_id})
WHERE interpretation.owner = $owner
RETURN <interpretation._row> AS interpretation
