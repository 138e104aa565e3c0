// audit.reduce: the own state of some subjects as of two clocks: their own observations, reduced without schema
// rules. Of some entities also the values of identifying fields in the observations that count for them.
//
// params  subject_ids: LIST<STRING>, identifying: LIST<LIST>, at: INTEGER, at_ingested: INTEGER
// returns reduced: LIST<LIST>, evidence: LIST<LIST>
// mode    read
// index   owner_id, observed_in_time (home, at)
// cost    heavy
// `identifying` are [entity id, names of its identifying fields, as they are and in lower case without blanks, hyphens and
// underscores]. `evidence` has [entity id, names, values, `content` where its content identified it] of each combination
// that an observation has.
<owner._known>
CALL (known) {
  UNWIND $subject_ids AS subject_id
  CALL (subject_id, known) {
    <observation._tally>
  }
  CALL (subject_id, known) {
    <observation._winners>
  }
  RETURN collect([subject_id, version, updated_at, observations, created_at, last_observation_at, turn, unmade,
    null, fold]) AS reduced
}
CALL () {
  UNWIND $identifying AS subject
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
}
RETURN reduced, evidence
