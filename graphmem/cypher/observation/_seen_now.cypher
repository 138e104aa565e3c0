// Whether the observation of the edge `seen` counts now.
(seen.excluded IS NULL OR size(seen.excluded) % 2 = 0)
