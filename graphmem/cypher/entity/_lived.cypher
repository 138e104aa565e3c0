// Whether an entity was live as of two clocks: its newest deletion or restoration decides. Takes `entity` and
// `known`. An entity that was never deleted has no such observation, so none of its observations is read. UNWIND
// keeps the planner from reading observations first.
UNWIND CASE WHEN entity.turn IS NULL THEN [] ELSE [entity.id] END AS subject_id
MATCH ()-[seen:OBSERVED]->()
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject_id AND seen.at <= $at AND seen.recorded_at <= known AND seen.kind IN <fact._lifecycle_kinds>
WITH max([seen.at, seen.observation_id, seen.kind]) AS turn
RETURN coalesce(turn[2] <> 'delete', true) AS lived
