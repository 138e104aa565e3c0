// The node of a subject, as `subject`. Takes `subject_id`. Ids of two kinds of subjects are never equal.
CALL (subject_id) {
  MATCH (subject:Source {id: subject_id})
  WHERE subject.owner = $owner
  RETURN subject
  UNION ALL
  MATCH (subject:Interpretation {id: subject_id})
  WHERE subject.owner = $owner
  RETURN subject
  UNION ALL
  MATCH (subject:Transaction {id: subject_id})
  WHERE subject.owner = $owner
  RETURN subject
  UNION ALL
  MATCH (subject:Writing {owner: $owner, id: subject_id})
  RETURN subject
  UNION ALL
  MATCH (subject:Split {id: subject_id})
  WHERE subject.owner = $owner
  RETURN subject
}
