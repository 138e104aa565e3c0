// Make the node of a writing, so that what is written later is known to belong to it. Takes `subject_id`.
CALL (subject_id) {
  WITH subject_id WHERE subject_id STARTS WITH 'wrt_'
  MERGE (writing:Writing {owner: $owner, id: subject_id})
  ON CREATE SET writing.since = toInteger(substring(subject_id, 4, 20)),
    writing.until = toInteger(substring(subject_id, 24, 20)), writing.writer = substring(subject_id, 44)
}
