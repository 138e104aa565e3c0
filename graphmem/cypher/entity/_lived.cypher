// Whether an entity lived as of two clocks, by its newest lifecycle observation. Takes `entity` and `known`.
// What was never deleted has no turn: none of its observations is read.
WITH entity WHERE entity.turn IS NOT NULL
MATCH ()-[seen:OBSERVED]->()
WHERE seen.home = entity.id AND seen.at <= $at AND seen.recorded_at <= known AND seen.kind IN ['delete', 'restore']
WITH max([seen.at, seen.observation_id, seen.kind]) AS turn
RETURN coalesce(turn[2] <> 'delete', true) AS lived
