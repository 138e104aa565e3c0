// owner.erase_names: erase some of an owner's identifiers, schemas, type aliases, interpretations, sources with
// their passages, exclusions, dismissals, splits, renamings, writings and facts that do not count.
//
// params  limit: INTEGER
// returns erased: INTEGER
// mode    write
// index   identifier_value (owner, kind, value), schema_by_type (owner, entity_type), type_alias_name (owner, name),
//         interpretation_by_created (owner, created_at, id), source_by_recorded (owner, recorded_at, id),
//         exclusion_by_subject (owner, subject, recorded_at, id), dismissal_by_a (owner, entity_a, entity_b),
//         split_by_recorded (owner, recorded_at, id), renaming_by_name (owner, name),
//         passages_changed (owner, changed, source_id), writing_by_writer (owner, writer),
//         lost_fact_by_recorded (owner, recorded_at, id)
// cost    light
// `limit` bounds how many of each are erased; of passages a twentieth, as each node has the text of a file. Their edges are
// gone with the entities and transactions.
CALL () {
  MATCH (identifier:Identifier)
  USING INDEX SEEK identifier:Identifier(owner, kind, value)
  WHERE identifier.owner = $owner AND identifier.kind IS NOT NULL AND identifier.value IS NOT NULL
  WITH identifier LIMIT $limit
  DETACH DELETE identifier
  RETURN count(*) AS identifiers
}
CALL () {
  MATCH (schema:Schema)
  USING INDEX SEEK schema:Schema(owner, entity_type)
  WHERE schema.owner = $owner AND schema.entity_type IS NOT NULL
  WITH schema LIMIT $limit
  DETACH DELETE schema
  RETURN count(*) AS schemas
}
CALL () {
  MATCH (alias:TypeAlias)
  USING INDEX SEEK alias:TypeAlias(owner, name)
  WHERE alias.owner = $owner AND alias.name IS NOT NULL
  WITH alias LIMIT $limit
  DETACH DELETE alias
  RETURN count(*) AS aliases
}
CALL () {
  MATCH (interpretation:Interpretation)
  USING INDEX SEEK interpretation:Interpretation(owner, created_at, id)
  WHERE interpretation.owner = $owner AND interpretation.created_at IS NOT NULL AND interpretation.id IS NOT NULL
  WITH interpretation LIMIT $limit
  DETACH DELETE interpretation
  RETURN count(*) AS interpretations
}
CALL () {
  MATCH (source:Source)
  USING INDEX SEEK source:Source(owner, recorded_at, id)
  WHERE source.owner = $owner AND source.recorded_at IS NOT NULL AND source.id IS NOT NULL
  WITH source LIMIT $limit
  DETACH DELETE source
  RETURN count(*) AS sources
}
CALL () {
  MATCH (passages:Passages)
  USING INDEX SEEK passages:Passages(owner, changed, source_id)
  WHERE passages.owner = $owner AND passages.changed IS NOT NULL AND passages.source_id IS NOT NULL
  WITH passages LIMIT 1 + $limit / 20
  DETACH DELETE passages
  RETURN count(*) AS passages_of_sources
}
CALL () {
  MATCH (exclusion:Exclusion)
  USING INDEX SEEK exclusion:Exclusion(owner, subject, recorded_at, id)
  WHERE exclusion.owner = $owner AND exclusion.subject IS NOT NULL AND exclusion.recorded_at IS NOT NULL
    AND exclusion.id IS NOT NULL
  WITH exclusion LIMIT $limit
  DETACH DELETE exclusion
  RETURN count(*) AS exclusions
}
CALL () {
  MATCH (dismissal:Dismissal)
  USING INDEX SEEK dismissal:Dismissal(owner, entity_a, entity_b)
  WHERE dismissal.owner = $owner AND dismissal.entity_a IS NOT NULL AND dismissal.entity_b IS NOT NULL
  WITH dismissal LIMIT $limit
  DETACH DELETE dismissal
  RETURN count(*) AS dismissals
}
CALL () {
  MATCH (split:Split)
  USING INDEX SEEK split:Split(owner, recorded_at, id)
  WHERE split.owner = $owner AND split.recorded_at IS NOT NULL AND split.id IS NOT NULL
  WITH split LIMIT $limit
  DETACH DELETE split
  RETURN count(*) AS splits
}
CALL () {
  MATCH (renaming:Renaming)
  USING INDEX SEEK renaming:Renaming(owner, name)
  WHERE renaming.owner = $owner AND renaming.name IS NOT NULL
  WITH renaming LIMIT $limit
  DETACH DELETE renaming
  RETURN count(*) AS renamings
}
CALL () {
  MATCH (writing:Writing)
  USING INDEX SEEK writing:Writing(owner, writer)
  WHERE writing.owner = $owner AND writing.writer IS NOT NULL
  WITH writing LIMIT $limit
  DETACH DELETE writing
  RETURN count(*) AS writings
}
CALL () {
  MATCH (lost:LostFact)
  USING INDEX SEEK lost:LostFact(owner, recorded_at, id)
  WHERE lost.owner = $owner AND lost.recorded_at IS NOT NULL AND lost.id IS NOT NULL
  WITH lost LIMIT $limit
  DETACH DELETE lost
  RETURN count(*) AS lost_facts
}
RETURN identifiers + schemas + aliases + interpretations + sources + passages_of_sources + exclusions + dismissals
  + splits + renamings + writings + lost_facts AS erased
