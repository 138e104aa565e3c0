// The newest time of recording that a reading as of two clocks sees, as `known`: what is committed while it runs is
// left out of all of it. The limit keeps the planner from moving it behind what it bounds.
OPTIONAL MATCH (writer:Owner {id: $owner})
WITH CASE WHEN writer.recorded_at < $at_ingested THEN writer.recorded_at ELSE $at_ingested END AS known LIMIT 1
