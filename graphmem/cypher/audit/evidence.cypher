// audit.evidence: the values of identifying fields in the observations that count for some entities.
//
// params  subjects: LIST<LIST>
// returns evidence: LIST<LIST>
// mode    read
// index   observed_in_time (home, at)
// cost    heavy
// `subjects` are [entity id, names of its identifying fields, as they are and in lower
// case without blanks, hyphens and underscores]. `evidence` has [entity id, names, values,
// `content` where its content identified it] of each combination that an observation has.
UNWIND $subjects AS subject
MATCH ()-[seen:OBSERVED]->(observation:Observation)
USING INDEX SEEK seen:OBSERVED(home, at)
WHERE seen.home = subject[0] AND seen.at IS NOT NULL AND size(coalesce(seen.excluded, [])) % 2 = 0
  AND observation.owner = $owner AND seen.kind IN <fact._value_kinds>
WITH DISTINCT subject[0] AS subject_id,
  head([lists IN [[observation.fields, observation.values]] |
    [i IN range(0, size(lists[0]) - 1) WHERE (lists[0][i] IN subject[1] OR
      toLower(replace(replace(replace(lists[0][i], ' ', ''), '-', ''), '_', '')) IN subject[1])
    | [lists[0][i], head([placed IN [[observation.id, lists[1][i]]] | <entity._placed>])]]]) AS pairs,
  CASE observation.identity_basis WHEN 'content' THEN 'content' END AS basis
WHERE size(pairs) > 0
RETURN collect([subject_id, [pair IN pairs | pair[0]], [pair IN pairs | pair[1]], basis]) AS evidence
