// audit.statements: what the observations of some entities say of their identity, and when these counted.
//
// params  subjects: LIST<LIST>
// returns statements: LIST<LIST>
// mode    read
// index   observed_in_time (home, at)
// cost    heavy
// `subjects` are [entity id, names of its identifying fields, as they are and in lower
// case without blanks, hyphens and underscores]. A row is [entity id, recorded_at, the times at which the
// observation stopped and began again to count, names, values, `content` where its content identified it]. Of observations that say the same and count alike it is
// the earliest.
UNWIND $subjects AS subject
MATCH ()-[seen:OBSERVED]->(observation:Observation)
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject[0] AND seen.at IS NOT NULL AND observation.owner = $owner
  AND seen.kind IN <fact._value_kinds>
WITH subject[0] AS subject_id, coalesce(seen.excluded, []) AS toggles,
  head([lists IN [[observation.fields, observation.values]] |
    [i IN range(0, size(lists[0]) - 1) WHERE (lists[0][i] IN subject[1] OR
      toLower(replace(replace(replace(lists[0][i], ' ', ''), '-', ''), '_', '')) IN subject[1])
    | [lists[0][i], head([placed IN [[observation.id, lists[1][i]]] | <entity._placed>])]]]) AS pairs,
  CASE observation.identity_basis WHEN 'content' THEN 'content' END AS basis, min(seen.recorded_at) AS recorded_at
RETURN collect([subject_id, recorded_at, toggles, [pair IN pairs | pair[0]], [pair IN pairs | pair[1]], basis]) AS statements
