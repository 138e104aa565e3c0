// Whether an entity was live as of two clocks: its newest deletion or restoration decides, and it was not live while
// the observations that gave it values were excluded. Takes `entity` and `known`. An entity that was never deleted
// has no such observation, so none of its observations is read; `excluded` is set in an entity with observations that
// did not count at some time. UNWIND keeps the planner from reading observations first.
UNWIND CASE WHEN entity.turn IS NULL AND entity.excluded IS NULL THEN [] ELSE [entity.id] END AS subject_id
MATCH ()-[seen:OBSERVED]->()
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject_id AND seen.at <= $at AND <observation._learned>
  AND (seen.kind IN <fact._lifecycle_kinds> OR entity.excluded)
WITH <observation._counts> AS counts, seen.at AS at, seen.observation_id AS observation_id, seen.kind AS kind
WITH max(CASE WHEN counts AND kind IN <fact._lifecycle_kinds> THEN [at, observation_id, kind] END) AS turn,
  count(CASE WHEN kind IN <fact._value_kinds> THEN 1 END) AS made,
  count(CASE WHEN counts AND kind IN <fact._value_kinds> THEN 1 END) AS made_now
RETURN coalesce(turn[2] <> 'delete', true) AND (made = 0 OR made_now > 0) AS lived
