// Whether an observation was known here by `known`: recorded by then, and learned by then where this copy learned of it
// later from another one. With `$by_writer` only the clock of the writer counts. Takes its edge `seen` and `known`.
seen.recorded_at <= known AND ($by_writer OR seen.learned_at IS NULL OR seen.learned_at <= known)
