// The observations of a subject that may count as of two clocks, as `seen` and `observation`, whether each counts on
// the clock of recording, as `counts`, when it stopped and began again to count, as `turned`,
// and its dates: [fields and values, whether it is a correction, whether it was
// observed by then]. Takes `subject_id`, `known` and `until`. An observation that says when its values held is among them
// whenever it was observed: graphmem.model.valid_time decides. All others have the same dates, [[], false, true].
// Up to `until` there are dates; where no observation has any, it is `$at`. Observations with equal fields are looked at
// together: to spell each name of each of them takes most of the time.
MATCH ()-[seen:OBSERVED]->(observation)
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject_id AND seen.at <= until AND <observation._learned>
WITH until, seen, observation, <observation._turned> AS turned, known
WITH *, <observation._even> AS counts
WITH until, CASE WHEN counts AND $at < until AND seen.kind IN <fact._value_kinds>
  THEN observation.fields ELSE [] END AS names, collect([seen, observation, counts, turned]) AS group
WITH until, names, [i IN range(0, size(names) - 1)
  WHERE replace(replace(replace(toLower(names[i]), '_', ''), '-', ''), ' ', '') IN <fact._names_of_dates> | i] AS places,
  group
WITH names, places, CASE WHEN size(places) > 0 OR until = $at THEN group ELSE [row IN group WHERE row[0].at <= $at] END AS group
UNWIND group AS row
WITH row[0] AS seen, row[1] AS observation, row[2] AS counts, row[3] AS turned, names, places
WITH seen, observation, counts, turned, [i IN places WHERE (size(observation.values[i]) <= <fact._characters_of_dates>
  OR observation.values[i] STARTS WITH <fact._sealed>) |
  [names[i], head([placed IN [[observation.id, observation.values[i]]] | <entity._placed>])]] AS said
WHERE seen.at <= $at OR size(said) > 0
WITH seen, observation, counts, turned, CASE WHEN size(said) = 0 THEN [[], false, true]
  ELSE [said, seen.kind = 'correction', seen.at <= $at] END AS dates
