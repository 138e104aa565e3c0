// The newest recorded_at that a read as of two clocks may see, as `known`: commits during the read are left out of the
// whole answer. The LIMIT keeps the planner from moving it.
OPTIONAL MATCH (writer:Owner {id: $owner})
WITH CASE WHEN writer.recorded_at < $at_ingested THEN writer.recorded_at ELSE $at_ingested END AS known LIMIT 1
