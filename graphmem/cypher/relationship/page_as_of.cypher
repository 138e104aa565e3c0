// relationship.page_as_of: the keys of one page of an owner's relationships as of two clocks, newest first, of one
// type or of all, and their total where it is asked for.
//
// params  type: STRING, include_deleted: BOOLEAN, counted: BOOLEAN, offset: INTEGER, limit: INTEGER, at: INTEGER,
//         at_ingested: INTEGER
// returns keys: LIST<STRING>, others: LIST<LIST>, total: INTEGER, known: INTEGER
// mode    read
// index   owner_id, relationship_by_owner (owner, last_observation_at, id), entity_id, observed_in_time (home, at)
// cost    heavy
// The order is that of then, so each relationship of the owner that was recorded by then is asked.
<owner._known>
CALL (known) {
  MATCH (relationship:Relationship)
  WHERE relationship.owner = $owner AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    AND relationship.created_at <= known AND ($type IS NULL OR relationship.type = $type)
  CALL (relationship, known) {
    MATCH (entity:Entity {id: relationship.source})
    CALL (entity, known) {
      <entity._lived>
    }
    RETURN lived AS source_lived
  }
  CALL (relationship, known) {
    MATCH (entity:Entity {id: relationship.target})
    CALL (entity, known) {
      <entity._lived>
    }
    RETURN lived AS target_lived
  }
  WITH known, relationship WHERE (source_lived AND target_lived) OR $include_deleted
  WITH known, relationship, relationship.key AS key
  CALL (key, known) {
    <relationship._turn>
  }
  WITH relationship, key, turn, last WHERE turn[2] <> 'delete' OR ($include_deleted AND turn IS NOT NULL)
  WITH relationship, key, last ORDER BY last DESC, relationship.id DESC SKIP $offset LIMIT $limit
  RETURN collect(key) AS keys, collect([relationship.source, relationship.target]) AS others
}
CALL (known) {
  UNWIND CASE WHEN $counted THEN [true] ELSE [] END AS wanted
  MATCH (relationship:Relationship)
  WHERE relationship.owner = $owner AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
    AND relationship.created_at <= known AND ($type IS NULL OR relationship.type = $type)
  CALL (relationship, known) {
    MATCH (entity:Entity {id: relationship.source})
    CALL (entity, known) {
      <entity._lived>
    }
    RETURN lived AS source_lived
  }
  CALL (relationship, known) {
    MATCH (entity:Entity {id: relationship.target})
    CALL (entity, known) {
      <entity._lived>
    }
    RETURN lived AS target_lived
  }
  WITH known, relationship WHERE (source_lived AND target_lived) OR $include_deleted
  WITH known, relationship.key AS key
  CALL (key, known) {
    <relationship._turn>
  }
  WITH turn WHERE turn[2] <> 'delete' OR ($include_deleted AND turn IS NOT NULL)
  RETURN count(turn) AS total
}
RETURN keys, others, total, known
