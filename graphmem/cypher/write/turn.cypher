// write.turn: write what a turn decided, if the owner still has the revision that the turn read; else no row, and
// nothing is written.
//
// params  sequence: INTEGER, revision: INTEGER, recorded_at: INTEGER, state_hash: STRING, transactions: LIST<MAP>,
//         entities: LIST<MAP>, relationships: LIST<MAP>, events: LIST<MAP>, superseded: LIST<STRING>,
//         renewed: LIST<STRING>, schemas: LIST<MAP>, versions: LIST<MAP>, aliases: LIST<MAP>, counts: LIST<MAP>,
//         sources: LIST<MAP>, sourced: LIST<MAP>, interpretations: LIST<MAP>, interpreted: LIST<MAP>,
//         repeated: LIST<MAP>, dismissals: LIST<MAP>, renamings: LIST<MAP>
// returns sequence: INTEGER
// mode    write
// index   owner_id and the constraints of every label that it writes
// cost    light
// forms   plain, linked, sourced
// Planning the whole query on a server that has just started takes seconds. So a turn runs the least form that it
// needs: `plain` writes entities with all that belongs to them, `linked` events and new relationships as well,
// `sourced` files and interpretations as well. Merges, relationships that are deleted or restored, versions of schemas, aliases,
// dismissals and renamings need the whole query. The edges `stored`, `ended`, `of`, `also_in` and `identified` came later than relationship types that anybody may register, so
// their names are in lower case, as that of `related` is: no registered type meets them. A restored transaction may be older than the source that the database has.
// The first SET takes the owner's lock before anything is read, so that no two turns decide on one state. A turn
// without transactions folds entities by changed rules: it raises the revision alone. Every seek is demanded, so the
// plan does not depend on Neo4j's counts. `replan=skip` keeps the plan: otherwise a writer would wait half a second
// for a new plan whenever the data has grown. In a row of a relationship, `survivor_key` is the relationship that it
// is newly merged into, and `former_survivor_key` the one that it was merged into before; both are null if that has
// not changed. `labels_added` and `labels_removed` come from graphmem/model/display_labels.py alone; only the audit
// removes labels. Entities that are `created` were not there when the turn looked, and the owner's
// revision says that nobody made them since: no node is searched for. `rekeyed` is how the kinds of the identifiers begin that are written anew, '' of all. `changed` is the revision that an entity was last written at: copies in memory follow it
// (search/follow.cypher). That of the owner holds the last revision at which entities were written, and how many.
CYPHER replan=skip
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner WHERE owner.revision = $revision
SET owner.sequence = $sequence + size($transactions), owner.revision = $revision + 1,
  owner.recorded_at = $recorded_at, owner.state_hash = $state_hash,
  owner.changed = CASE WHEN size($entities) > 0 THEN [$revision + 1, size($entities)] ELSE owner.changed END,
  owner.refolding = CASE WHEN any(row IN $entities + $relationships WHERE row.properties.refold > 0) THEN true
    ELSE owner.refolding END
WITH owner
CALL () {
  <write._transactions>
}
CALL () {
  UNWIND $entities AS row
  WITH row WHERE row.created
  CREATE (entity:Entity {id: row.subject_id})-[:HAS_HISTORY]->(history:History {home: row.subject_id})
  SET entity += row.properties, entity:$(row.labels_added), entity.changed = $revision + 1
  FOREACH (vectors IN CASE WHEN row.meaning.of IS NOT NULL THEN [row.meaning] END |
    CREATE (meaning:Meaning {entity_id: row.subject_id, owner: $owner, type: row.properties.type})
    SET meaning += vectors
  )
  FOREACH (pair IN row.identifiers_added |
    MERGE (identifier:Identifier {owner: $owner, kind: pair[0], value: pair[1]})
    CREATE (identifier)-[:IDENTIFIES]->(entity)
  )
  FOREACH (pair IN row.former_added |
    MERGE (identifier:Identifier {owner: $owner, kind: pair[0], value: pair[1]})
    CREATE (identifier)-[:identified]->(entity)
  )
  FOREACH (pair IN row.values |
    CREATE (entity)-[:HAS_VALUE]->(:FieldValue {owner: $owner, type: row.properties.type, field: pair[0],
      value: pair[1], entity_id: row.subject_id})
  )
  WITH row, history
  CALL (row, history) {
    <write._observe>
  }
}
CALL () {
  UNWIND $entities AS row
  WITH row WHERE NOT row.created
  MERGE (entity:Entity {id: row.subject_id})
  SET entity += row.properties, entity:$(row.labels_added), entity.changed = $revision + 1
  // only whole
  REMOVE entity:$(row.labels_removed)
  // end
  MERGE (entity)-[:HAS_HISTORY]->(history:History {home: row.subject_id})
  WITH row, entity, history
  CALL (row, history) {
    <write._observe>
  }
  // only whole
  CALL (row, entity) {
    WITH row, entity WHERE row.unmerged IS NOT NULL
    MATCH (entity)-[gone:MERGED_INTO]->(:Entity)
    DELETE gone
  }
  CALL (row, entity) {
    WITH row, entity WHERE row.rekeyed IS NOT NULL
    MATCH (entity)<-[gone:IDENTIFIES]-(identifier:Identifier)
    WHERE identifier.kind STARTS WITH row.rekeyed
    DELETE gone
  }
  // end
  CALL (row, entity) {
    UNWIND row.identifiers_removed AS pair
    MATCH (entity)<-[gone:IDENTIFIES]-(identifier:Identifier {owner: $owner, kind: pair[0], value: pair[1]})
    DELETE gone
  }
  CALL (row, entity) {
    UNWIND row.identifiers_added AS pair
    MERGE (identifier:Identifier {owner: $owner, kind: pair[0], value: pair[1]})
    CREATE (identifier)-[:IDENTIFIES]->(entity)
  }
  CALL (row, entity) {
    // What named the entity formerly, and the keys by which the rule found it. `former_removed` is null where all names are
    // written anew; the keys stay.
    WITH row, entity WHERE row.former_added IS NOT NULL
    CALL (row, entity) {
      MATCH (entity)<-[gone:identified]-(identifier:Identifier)
      WHERE row.former_removed IS NULL AND NOT identifier.kind STARTS WITH 'key:'
        OR [identifier.kind, identifier.value] IN row.former_removed
      DELETE gone
    }
    UNWIND row.former_added AS pair
    MERGE (identifier:Identifier {owner: $owner, kind: pair[0], value: pair[1]})
    MERGE (identifier)-[:identified]->(entity)
  }
  CALL (row, entity) {
    <write._values>
  }
  CALL (row) {
    <write._meaning>
  }
}
// only whole
CALL () {
  // After all entities: a merge may name one that this turn creates.
  UNWIND $entities AS row
  WITH row WHERE row.merged IS NOT NULL
  MATCH (entity:Entity {id: row.subject_id})
  MATCH (into:Entity {id: row.merged})
  CREATE (entity)-[edge:MERGED_INTO]->(into)
  SET edge.by = CASE WHEN row.merged_by IS NOT NULL THEN 'rule' END, edge.alternative = row.merged_by
  MERGE (entity)-[:MERGED]->(into)
}
// end
// only linked, sourced, whole
<write._events>
// end
// only linked, sourced, whole
CALL () {
  UNWIND $relationships AS row
  MERGE (relationship:Relationship {key: row.subject_id})
  SET relationship += row.properties
  WITH row, relationship
  CALL (row, relationship) {
    // A relationship that only shows its members has no history of its own.
    WITH row, relationship WHERE size(row.observations) > 0
    MERGE (relationship)-[:HAS_HISTORY]->(history:History {home: row.subject_id})
    WITH row, history
    CALL (row, history) {
      <write._observe>
    }
  }
  // only whole
  CALL (row, relationship) {
    WITH row, relationship WHERE row.former_survivor_key IS NOT NULL
    MATCH (relationship)-[gone:SHOWN_AS]->(:Relationship)
    DELETE gone
  }
  // end
  WITH row WHERE row.created OR row.liveness_changed
  MATCH (source:Entity {id: row.properties.source})
  MATCH (target:Entity {id: row.properties.target})
  CALL (row, source, target) {
    // One edge per key, for ever. A type that the database does not know is the owner's own: its edge is `related`
    // and carries the name, so that no name that somebody makes up stays in the database as a type of edges.
    WITH row, source, target WHERE row.created
    WITH row, source, target, row.is_shipped OR EXISTS {
      MATCH (type:RelationshipType {name: row.properties.type})
    } AS is_native
    CREATE (source)-[edge:$(CASE WHEN is_native THEN row.properties.type ELSE 'related' END)]->(target)
    SET edge.key = row.subject_id, edge.live = row.properties.live,
      edge.type = CASE WHEN NOT is_native THEN row.properties.type END
  }
  // only whole
  CALL (row, source, target) {
    WITH row, source, target WHERE row.liveness_changed
    MATCH (source)-[edge]->(target)
    WHERE edge.key = row.subject_id
    SET edge.live = row.properties.live
  }
  // end
}
// end
// only whole
CALL () {
  UNWIND $relationships AS row
  WITH row WHERE row.survivor_key IS NOT NULL
  MATCH (relationship:Relationship {key: row.subject_id})
  MATCH (survivor:Relationship {key: row.survivor_key})
  CREATE (relationship)-[:SHOWN_AS]->(survivor)
}
// end
// only sourced, whole
CALL (owner) {
  UNWIND $sources AS row
  MATCH (transaction:Transaction {id: row.transaction_id})
  MERGE (source:Source {id: row.id})
  ON CREATE SET source += row.properties, source.reader = '?', owner.sources = owner.sources + 1
  ON MATCH SET source.recorded_at = CASE WHEN row.properties.recorded_at < source.recorded_at
    THEN row.properties.recorded_at ELSE source.recorded_at END
  CREATE (transaction)-[stored:stored]->(source)
  SET stored = row.stored
}
CALL () {
  UNWIND $sourced AS row
  MATCH (observation:Observation {id: row.id})
  MATCH (source:Source {id: row.source_id})
  CREATE (observation)-[:FROM_SOURCE]->(source)
}
CALL (owner) {
  UNWIND $interpretations AS row
  MATCH (transaction:Transaction {id: row.transaction_id})
  MATCH (source:Source {id: row.source_id})
  MERGE (interpretation:Interpretation {id: row.id})
  ON CREATE SET owner.interpretations = owner.interpretations + 1
  SET interpretation += row.properties,
    interpretation.created_at = coalesce(interpretation.created_at, row.properties.started_at)
  MERGE (interpretation)-[:of]->(source)
  CREATE (transaction)-[:ended]->(interpretation)
}
CALL () {
  UNWIND $interpreted AS row
  MATCH (observation:Observation {id: row.id})
  MATCH (interpretation:Interpretation {id: row.interpretation_id})
  CREATE (observation)-[:BY_INTERPRETATION]->(interpretation)
}
// end
CALL () {
  UNWIND $schemas AS row
  MERGE (schema:Schema {id: row.id})
  SET schema += row.properties
}
// only whole
CALL () {
  UNWIND $versions AS row
  MATCH (transaction:Transaction {id: row.transaction_id})
  CREATE (schema:Schema)
  SET schema = row.properties
  CREATE (schema)-[:IN_TRANSACTION]->(transaction)
}
CALL () {
  UNWIND $dismissals AS row
  MATCH (transaction:Transaction {id: row.transaction_id})
  CREATE (dismissal:Dismissal)
  SET dismissal = row.properties
  CREATE (dismissal)-[:IN_TRANSACTION]->(transaction)
}
CALL () {
  UNWIND $renamings AS row
  MATCH (transaction:Transaction {id: row.transaction_id})
  CREATE (renaming:Renaming)
  SET renaming = row.properties
  CREATE (renaming)-[:IN_TRANSACTION]->(transaction)
}
CALL () {
  UNWIND $aliases AS row
  WITH row WHERE row.type IS NULL
  MATCH (alias:TypeAlias {owner: $owner, name: row.name})
  DELETE alias
}
CALL () {
  UNWIND $aliases AS row
  WITH row WHERE row.type IS NOT NULL
  MERGE (alias:TypeAlias {owner: $owner, name: row.name})
  SET alias.type = row.type
}
// end
CALL () {
  // Observations that were known before their transaction.
  UNWIND $repeated AS row
  MATCH (observation:Observation {id: row.id})
  MATCH (transaction:Transaction {id: row.transaction_id})
  MERGE (observation)-[:also_in]->(transaction)
}
CALL () {
  UNWIND $counts AS row
  MERGE (counted:Count {owner: $owner, kind: row.kind, type: row.type})
  ON CREATE SET counted.total = 0, counted.known = 0, counted.observations = 0,
    counted.recorded = 0
  SET counted.total = counted.total + row.total, counted.known = counted.known + row.known,
    counted.observations = counted.observations + row.observations, counted.recorded = counted.recorded + row.recorded
}
RETURN owner.sequence AS sequence
