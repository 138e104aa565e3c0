// The rows of a page with the entities at the ends: `page`, `others`, `truncated` and `more`. Takes `every`, `ends`
// (lists of entities) and `sizes`; each holds one item more than the page if there is a next page.
WITH every[..$limit] AS found, ends, sizes[..$limit] AS sizes, size(every) > $limit AS longer
WITH found, ends, longer, <entity._fitting> AS fitting
CALL (ends, fitting) {
  UNWIND CASE WHEN $expanded THEN ends[..fitting] ELSE [] END AS those
  UNWIND those AS entity
  WITH DISTINCT entity ORDER BY entity.id
  RETURN collect(<entity._row>) AS others
}
RETURN [relationship IN found[..fitting] | <relationship._row>] AS page, others, fitting < size(found) AS truncated,
  longer OR fitting < size(found) AS more
