// Whether `observation` counts now.
(observation.excluded IS NULL OR size(observation.excluded) % 2 = 0)
