// The rows of a page: `page`, `truncated` and `more`. Takes `observations`, which holds one observation more than the
// page if there is a next page.
WITH observations[..$limit] AS observations, size(observations) > $limit AS longer
WITH observations, longer, [observation IN observations | observation.size] AS sizes
WITH observations, longer, <entity._fitting> AS fitting
CALL (observations, fitting) {
  UNWIND observations[..fitting] AS observation
  MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
  RETURN collect(<observation._row>) AS page
}
RETURN page, fitting < size(observations) AS truncated, longer OR fitting < size(observations) AS more
