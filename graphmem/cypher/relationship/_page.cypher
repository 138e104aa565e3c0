// The rows of a page with the entities at the ends: `page`, `others`, `truncated` and `more`. Takes `relationships`,
// `ends` (lists of entities) and `sizes`; each holds one item more than the page if there is a next page.
WITH relationships[..$limit] AS relationships, ends, sizes[..$limit] AS sizes, size(relationships) > $limit AS longer
WITH relationships, ends, longer, <entity._fitting> AS page_size
CALL (ends, page_size) {
  UNWIND CASE WHEN $expanded THEN ends[..page_size] ELSE [] END AS pair
  UNWIND pair AS entity
  WITH DISTINCT entity ORDER BY entity.id
  RETURN collect(entity) AS others
}
CALL (others) {
  WITH others AS entities, size(others) AS fitting
  <entity._rows>
  RETURN page AS others_page
}
RETURN [relationship IN relationships[..page_size] | <relationship._row>] AS page, others_page AS others,
  page_size < size(relationships) AS truncated, longer OR page_size < size(relationships) AS more
