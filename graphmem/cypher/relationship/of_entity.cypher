// relationship.of_entity: one page of the relationships of one entity, newest first, with the entities at their other
// ends, and the total on request; no row if the entity is not the owner's, or is deleted. A merged entity is answered
// as its survivor.
//
// params  entity_id: STRING, outgoing: BOOLEAN, incoming: BOOLEAN, type: STRING, entity_type: STRING, other: STRING,
//         include_deleted: BOOLEAN, counted: BOOLEAN, expanded: BOOLEAN, time: INTEGER, after: STRING,
//         offset: INTEGER, limit: INTEGER, reach: INTEGER, writers: LIST<STRING>
// returns version: INTEGER, root: STRING, page: LIST<LIST>, others: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN,
//         total: INTEGER
// mode    read
// index   entity_id, relationship_by_source and relationship_by_target (owner, end, last_observation_at, id)
// cost    light
// forms   first, written
// The page of a hub costs no more than another page. `reach` is offset + limit + 1. The page begins after the
// relationship `after` of the time `time`: one seek reads the relationships of that time, a second one the earlier
// ones. `entity_type` is the type of the entity at the other end; with it, and for the total, all relationships of
// the entity may be read. The page ends before `limit` if its values do not fit; with `expanded`, the values of the
// entities count too. The form `first` answers the first page, without the total.
MATCH (requested_entity:Entity {id: $entity_id})
WHERE requested_entity.owner = $owner
MATCH (requested_entity)-[:MERGED_INTO*0..]->(origin:Entity)
WHERE origin.merged_into IS NULL AND (origin.live OR $include_deleted)
CALL () {
  // `other` becomes the survivor of the requested entity at the other end.
  OPTIONAL MATCH (requested_end:Entity {id: $other})-[:MERGED_INTO*0..]->(end:Entity)
  WHERE end.owner = $owner AND end.merged_into IS NULL
  RETURN coalesce(end.id, $other) AS other LIMIT 1
}
CALL (origin, other) {
  CALL (origin, other) {
    UNWIND CASE WHEN $outgoing THEN [true] ELSE [] END AS condition
    CALL (origin, other) {
      // only whole, written
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.source = origin.id
        AND relationship.last_observation_at = $time AND relationship.id < $after
        AND <relationship._listed> AND ($type IS NULL OR relationship.type = $type)
        AND (other IS NULL OR relationship.target = other)
      MATCH (entity:Entity {id: relationship.target})
      WHERE (entity.live OR $include_deleted) AND ($entity_type IS NULL OR entity.type = $entity_type)
      RETURN relationship, entity
      ORDER BY relationship.owner DESC, relationship.source DESC, relationship.last_observation_at DESC,
        relationship.id DESC LIMIT $reach
      UNION ALL
      // end
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.source = origin.id
        // only whole, written
        AND relationship.last_observation_at < $time AND relationship.id IS NOT NULL
        // end
        // only first
        AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
        // end
        AND <relationship._listed> AND ($type IS NULL OR relationship.type = $type)
        AND (other IS NULL OR relationship.target = other)
      MATCH (entity:Entity {id: relationship.target})
      WHERE (entity.live OR $include_deleted) AND ($entity_type IS NULL OR entity.type = $entity_type)
      RETURN relationship, entity
      ORDER BY relationship.owner DESC, relationship.source DESC, relationship.last_observation_at DESC,
        relationship.id DESC LIMIT $reach
    }
    RETURN relationship, entity
    UNION ALL
    UNWIND CASE WHEN $incoming THEN [true] ELSE [] END AS condition
    CALL (origin, other) {
      // only whole, written
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.target = origin.id
        AND relationship.last_observation_at = $time AND relationship.id < $after
        AND <relationship._listed> AND ($type IS NULL OR relationship.type = $type)
        AND (other IS NULL OR relationship.source = other)
      MATCH (entity:Entity {id: relationship.source})
      WHERE (entity.live OR $include_deleted) AND ($entity_type IS NULL OR entity.type = $entity_type)
      RETURN relationship, entity
      ORDER BY relationship.owner DESC, relationship.target DESC, relationship.last_observation_at DESC,
        relationship.id DESC LIMIT $reach
      UNION ALL
      // end
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.target = origin.id
        // only whole, written
        AND relationship.last_observation_at < $time AND relationship.id IS NOT NULL
        // end
        // only first
        AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
        // end
        AND <relationship._listed> AND ($type IS NULL OR relationship.type = $type)
        AND (other IS NULL OR relationship.source = other)
      MATCH (entity:Entity {id: relationship.source})
      WHERE (entity.live OR $include_deleted) AND ($entity_type IS NULL OR entity.type = $entity_type)
      RETURN relationship, entity
      ORDER BY relationship.owner DESC, relationship.target DESC, relationship.last_observation_at DESC,
        relationship.id DESC LIMIT $reach
    }
    RETURN relationship, entity
  }
  WITH relationship, entity
  ORDER BY relationship.last_observation_at DESC, relationship.id DESC SKIP $offset LIMIT $limit + 1
  WITH collect(relationship) AS relationships, collect([entity]) AS ends,
    collect(relationship.size + CASE WHEN $expanded THEN entity.size ELSE 0 END) AS sizes
  <relationship._page>
}
// only whole, written
CALL (origin, other) {
  CALL (origin, other) {
    UNWIND CASE WHEN $counted AND $outgoing THEN [true] ELSE [] END AS condition
    CALL (origin, other) {
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.source = origin.id
        AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
        AND <relationship._listed> AND ($type IS NULL OR relationship.type = $type)
        AND (other IS NULL OR relationship.target = other)
      MATCH (entity:Entity {id: relationship.target})
      WHERE (entity.live OR $include_deleted) AND ($entity_type IS NULL OR entity.type = $entity_type)
      RETURN count(relationship) AS relationships
    }
    RETURN relationships
    UNION ALL
    UNWIND CASE WHEN $counted AND $incoming THEN [true] ELSE [] END AS condition
    CALL (origin, other) {
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.target = origin.id
        AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
        AND <relationship._listed> AND ($type IS NULL OR relationship.type = $type)
        AND (other IS NULL OR relationship.source = other)
      MATCH (entity:Entity {id: relationship.source})
      WHERE (entity.live OR $include_deleted) AND ($entity_type IS NULL OR entity.type = $entity_type)
      RETURN count(relationship) AS relationships
    }
    RETURN relationships
  }
  RETURN sum(relationships) AS total
}
// end
// only whole, written
RETURN origin.version AS version, origin.id AS root, page, others, truncated, more, total
// end
// only first
RETURN origin.version AS version, origin.id AS root, page, others, truncated, more, 0 AS total
// end
