// audit.stamps_of_subject: the observations of a source, an interpretation, a transaction, a writing or a split on which it
// is noted wrongly when they count.
//
// params  subject_id: STRING, limit: INTEGER
// returns stamps: LIST<LIST>, unstamped: INTEGER
// mode    read
// index   owner_id, source_id, interpretation_id, transaction_id, agent_by_owner (owner), writing_id (owner, id),
//         writing_by_writer (owner, writer), split_id
// cost    heavy
// A row is [observation, its subject, what is noted on its node and on its edge, what the exclusions come to, what is
// noted on its edge by the clock of this copy: since when it is known for the subject, and when it counts, and the same that
// the exclusions come to].
// `unstamped`: on so many observations it is not noted yet.
WITH $subject_id AS subject_id
<exclusion._observations>
WITH DISTINCT observation
<audit._stamps>
