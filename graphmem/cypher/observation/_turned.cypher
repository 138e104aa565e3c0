// When the observation of the edge `seen` stopped and began again to count, as far as that was known here by `known`: by the
// clocks of the writers, once this copy had learned of as much, else by the clock of this copy. Takes `known`.
CASE WHEN $by_writer OR seen.excluded_learned IS NULL
    OR coalesce(last(seen.excluded), 0) <= known AND coalesce(last(seen.excluded_learned), 0) <= known
    OR any(more IN [size([each IN seen.excluded_learned WHERE each <= known]) -
      size([each IN coalesce(seen.excluded, []) WHERE each <= known])] WHERE more >= 0 AND more % 2 = 0)
  THEN seen.excluded ELSE seen.excluded_learned END
