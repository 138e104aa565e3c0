// audit.stamps_of_subject: the observations of a source, an interpretation, a transaction, an agent or a split on which it
// is noted wrongly when they count.
//
// params  subject_id: STRING, limit: INTEGER
// returns stamps: LIST<LIST>, unstamped: INTEGER
// mode    read
// index   owner_id, source_id, interpretation_id, transaction_id, agent_id, split_id
// cost    heavy
// A row is [observation, its subject, what is noted on its node and on its edge, what the exclusions come to].
// `unstamped`: on so many observations it is not noted yet.
WITH $subject_id AS subject_id
<exclusion._observations>
WITH DISTINCT observation
<audit._stamps>
