// When the observation of the edge `seen` stopped and began again to count, as far as that was known here by `known`: by the
// clocks of the writers, unless this copy learned of some of it later. Takes `known`.
CASE WHEN $by_writer OR seen.excluded_learned IS NULL
    OR coalesce(last(seen.excluded), 0) <= known AND coalesce(last(seen.excluded_learned), 0) <= known
  THEN seen.excluded ELSE seen.excluded_learned END
