// change.withdrawn: the entities and relationships that the observations of some withdrawn or reinstated subjects are, or
// were, about.
//
// params  subjects: LIST<STRING>
// returns subject_ids: LIST<STRING>
// mode    read
// index   source_id, interpretation_id, transaction_id, agent_by_owner (owner), split_id
// cost    heavy
CALL () {
  UNWIND $subjects AS subject_id
  <exclusion._observations>
  MATCH (observation)<-[seen:OBSERVED]-(:History)
  RETURN collect(DISTINCT seen.home) AS subject_ids
}
RETURN subject_ids
