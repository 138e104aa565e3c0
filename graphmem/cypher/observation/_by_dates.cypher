// The observations of a subject that may count as of two clocks, as `seen` and `observation`, whether each counts on
// the clock of recording, as `counts`, and its dates: [fields and values, whether it is a correction, whether it was
// observed by then]. Takes `subject_id` and `known`. An observation that says when its values held is among them
// whenever it was observed: graphmem.model.valid_time decides. All others have the same dates, [[], false, true].
MATCH ()-[seen:OBSERVED]->(observation:Observation)
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject_id AND seen.at <= <fact._latest> AND seen.recorded_at <= known
WITH seen, observation, <observation._counts> AS counts
WITH seen, observation, counts, CASE WHEN counts AND $at < <fact._latest> AND seen.kind IN <fact._value_kinds>
  THEN observation.fields ELSE [] END AS names
WITH seen, observation, counts, names, [i IN range(0, size(names) - 1)
  WHERE replace(replace(replace(toLower(names[i]), '_', ''), '-', ''), ' ', '') IN <fact._names_of_dates> | i] AS places
WITH seen, observation, counts, [i IN places WHERE (size(observation.values[i]) <= <fact._characters_of_dates>
  OR observation.values[i] STARTS WITH <fact._sealed>) |
  [names[i], head([placed IN [[observation.id, observation.values[i]]] | <entity._placed>])]] AS said
WHERE seen.at <= $at OR size(said) > 0
WITH seen, observation, counts, CASE WHEN size(said) = 0 THEN [[], false, true]
  ELSE [said, seen.kind = 'correction', seen.at <= $at] END AS dates
