// Whether `observation` counts as of a time of recording. Takes `known`.
(observation.excluded IS NULL OR size([moment IN observation.excluded WHERE moment <= known]) % 2 = 0)
