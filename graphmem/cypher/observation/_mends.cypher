// Whether `observation` is a correction that does not say since when: what was there before it was wrong.
observation.kind = 'correction' AND observation.observed_at = observation.recorded_at
