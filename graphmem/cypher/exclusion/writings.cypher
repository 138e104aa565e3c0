// exclusion.writings: what some writers wrote in spans of time that were ever withdrawn, with when that began and ended.
//
// params  writers: LIST<STRING>
// returns writings: LIST<LIST>
// mode    read
// index   writing_by_writer
// cost    light
RETURN COLLECT {
  UNWIND $writers AS writer
  MATCH (writing:Writing)
  USING INDEX SEEK writing:Writing(owner, writer)
  WHERE writing.owner = $owner AND writing.writer = writer AND writing.excluded IS NOT NULL
  RETURN [writing.id, writing.excluded]
} AS writings
