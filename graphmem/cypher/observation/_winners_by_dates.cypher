// The winner of each field of a subject among its observations of equal dates, without schema rules, as `winners`:
// [dates, [field, correction, observed_at, observation, value]]. Takes `subject_id`, `known` and `until`.
<observation._by_dates>
WITH dates, counts, seen.kind AS kind, observation
WHERE counts AND kind IN <fact._value_kinds>
WITH dates, observation.fields AS fields, observation.values AS values, observation.id AS observation_id,
  observation.observed_at AS observed_at, CASE kind WHEN 'correction' THEN 1 ELSE 0 END AS correction
UNWIND range(0, size(fields) - 1) AS i
WITH dates, fields[i] AS field, max([correction, observed_at, observation_id, values[i]]) AS winner
RETURN collect([dates, [field, winner[0], winner[1], winner[2],
  head([placed IN [[winner[2], winner[3]]] | <entity._placed>])]]) AS winners
