// The rows of a page: `page`, `truncated` and `more`. Takes `every`, which holds one observation more than the page if
// there is a next page.
WITH every[..$limit] AS found, size(every) > $limit AS longer
WITH found, longer, [one IN found | one.size] AS sizes
WITH found, longer, <entity._fitting> AS fitting
CALL (found, fitting) {
  UNWIND found[..fitting] AS observation
  MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
  RETURN collect(<observation._row>) AS page
}
RETURN page, fitting < size(found) AS truncated, longer OR fitting < size(found) AS more
