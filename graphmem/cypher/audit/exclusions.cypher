// audit.exclusions: the subjects of an owner's exclusions, sources and interpretations of which it is noted that they
// were excluded, and splits, with the times that are noted and those that the exclusions come to.
//
// params  none
// returns subjects: LIST<LIST>, unstamped: INTEGER
// mode    read
// index   owner_id, exclusion_by_subject (owner, subject, recorded_at, id), source_by_recorded (owner, recorded_at, id),
//         interpretation_by_created (owner, created_at, id), split_by_recorded (owner, recorded_at, id)
// cost    heavy
CALL () {
  MATCH (exclusion:Exclusion)
  USING INDEX SEEK exclusion:Exclusion(owner, subject, recorded_at, id)
  WHERE exclusion.owner = $owner AND exclusion.subject IS NOT NULL AND exclusion.recorded_at IS NOT NULL
    AND exclusion.id IS NOT NULL
  RETURN exclusion.subject AS subject_id
  UNION
  MATCH (source:Source)
  USING INDEX SEEK source:Source(owner, recorded_at, id)
  WHERE source.owner = $owner AND source.recorded_at IS NOT NULL AND source.id IS NOT NULL
    AND source.excluded IS NOT NULL
  RETURN source.id AS subject_id
  UNION
  MATCH (interpretation:Interpretation)
  USING INDEX SEEK interpretation:Interpretation(owner, created_at, id)
  WHERE interpretation.owner = $owner AND interpretation.created_at IS NOT NULL AND interpretation.id IS NOT NULL
    AND interpretation.excluded IS NOT NULL
  RETURN interpretation.id AS subject_id
  UNION
  MATCH (split:Split)
  USING INDEX SEEK split:Split(owner, recorded_at, id)
  WHERE split.owner = $owner AND split.recorded_at IS NOT NULL AND split.id IS NOT NULL
  RETURN split.id AS subject_id
}
<exclusion._toggles>
<exclusion._subject>
WITH collect([subject_id, subject.excluded, toggles, subject.excluded_learned, toggles_learned]) AS subjects
OPTIONAL MATCH (stamped_owner:Owner {id: $owner})
RETURN subjects, coalesce(stamped_owner.unstamped, 0) AS unstamped
