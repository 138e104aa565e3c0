// When a subject was excluded and included again, as `toggles`. Takes `subject_id`. An exclusion that says what is so
// already changes nothing.
CALL (subject_id) {
  MATCH (exclusion:Exclusion)
  USING INDEX SEEK exclusion:Exclusion(owner, subject, recorded_at, id)
  WHERE exclusion.owner = $owner AND exclusion.subject = subject_id AND exclusion.recorded_at IS NOT NULL
    AND exclusion.id IS NOT NULL
  WITH exclusion ORDER BY exclusion.recorded_at, exclusion.id
  WITH collect(exclusion) AS exclusions
  RETURN reduce(toggles = [], exclusion IN exclusions |
    CASE WHEN (exclusion.kind = 'exclude') = (size(toggles) % 2 = 0) THEN toggles + exclusion.recorded_at
      ELSE toggles END) AS toggles
}
