// receipt.states: what became of observations of which somebody was told, in the order of what was told.
//
// params  told: LIST<LIST>, at: INTEGER
// returns states: LIST<LIST>, sequence: INTEGER
// mode    read
// index   observation_id, source_id, entity_id, relationship_key, schema_by_type (owner, entity_type), owner_id, history_home,
//         transaction_by_recorded (owner, recorded_at, id)
// cost    heavy
// sealing told: clear
// In Python: graphmem.reading.receipt_states. A row of `told` is [the number of a fact, its subject, its field, the id of an
// observation behind it, whether it set the value, whether it was
// told then and not now]; the key of a relationship stands for all that was recorded of it by
// `at`, the time at which it was told, and a passage of a file has the id of the file. An answer has the id, the subject, the
// field, the state and the transaction that did it, the file, and who recorded it; the number, the cause of other answers than
// at that time, and the transaction that is it.
// A parting was done by the first transaction since that recorded something of another person at the e-mail address.
CALL () {
  UNWIND $told AS row
  WITH row[0] AS number, row[1] AS subject, row[2] AS field, row[3] AS id, row[4] AS sets, row[5] AS was
  OPTIONAL CALL (id) {
    MATCH (observation:Observation {id: id})
    WHERE observation.owner = $owner
    RETURN observation
    UNION ALL
    MATCH (history:History {home: id})-[:OBSERVED]->(observation:Observation)
    WHERE id CONTAINS ':' AND observation.owner = $owner AND observation.recorded_at <= $at
    RETURN DISTINCT observation
  }
  OPTIONAL CALL (id) {
    MATCH (source:Source {id: id})
    WHERE source.owner = $owner
    RETURN source
  }
  OPTIONAL MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
  OPTIONAL CALL (observation) {
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(id)
    WHERE entity.id = coalesce(observation.moved_to, observation.entity_id) AND observation.entity_id IS NOT NULL
    MATCH (entity)-[:MERGED_INTO*0..]->(shown:Entity)
    WHERE coalesce(shown.merged_into, '') = ''
    RETURN shown
    UNION ALL
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(key)
    WHERE relationship.key = coalesce(observation.moved_to, observation.relationship_key)
      AND observation.relationship_key IS NOT NULL
    MATCH (relationship)-[:SHOWN_AS*0..1]->(shown:Relationship)
    WHERE coalesce(shown.shown_as, '') = ''
    RETURN shown
  }
  WITH number, id, subject, field, sets, was, source, observation, transaction, shown,
    [i IN range(0, size(coalesce(shown.fields, [])) - 1) WHERE field IN ['', shown.fields[i]] | split(shown.winners[i], ',')] AS winners
  OPTIONAL CALL (winners, observation, sets) {
    WITH winners, observation WHERE sets AND none(ids IN winners WHERE observation.id IN ids)
    UNWIND winners AS ids
    UNWIND ids AS winner_id
    MATCH (winner:Observation {id: winner_id})-[:IN_TRANSACTION]->(setting:Transaction)
    WHERE winner.recorded_at > $at
    RETURN [CASE winner.kind WHEN 'correction' THEN 'corrected' ELSE 'replaced' END, setting.id] AS replaced
    ORDER BY winner.recorded_at DESC, winner.id LIMIT 1
  }
  OPTIONAL CALL (shown) {
    MATCH (schema:Schema)
    USING INDEX SEEK schema:Schema(owner, entity_type)
    WHERE schema.owner = $owner AND schema.entity_type = shown.type AND schema.recorded_at > $at
    MATCH (schema)-[:IN_TRANSACTION]->(changing:Transaction)
    RETURN ['schema', changing.id] AS schema_changed ORDER BY changing.recorded_at DESC LIMIT 1
  }
  OPTIONAL CALL (observation) {
    MATCH (observation)-[:split_by]->(split:Split)-[:IN_TRANSACTION]->(moving:Transaction)
    WHERE split.id = observation.moved_by AND split.recorded_at > $at
    RETURN ['split', moving.id] AS divided
  }
  OPTIONAL CALL (observation, subject) {
    MATCH (address:Entity {id: observation.entity_id})
    WHERE observation.part IS NOT NULL AND observation.moved_by IS NULL AND address.id = subject
    UNWIND address.parted_into AS part
    MATCH (history:History {home: part})-[:OBSERVED]->(other:Observation)
    WHERE other.entity_id = address.id AND other.part <> observation.part AND other.recorded_at > $at
    MATCH (other)-[:IN_TRANSACTION]->(parting:Transaction)
    RETURN ['parted', parting.id] AS parted ORDER BY parting.recorded_at LIMIT 1
  }
  OPTIONAL CALL (observation) {
    MATCH (turning:Transaction)
    USING INDEX SEEK turning:Transaction(owner, recorded_at, id)
    WHERE turning.owner = $owner AND turning.recorded_at = observation.excluded[-1] AND turning.id IS NOT NULL
    RETURN [CASE size(observation.excluded) % 2 WHEN 1 THEN 'withdrawn' ELSE 'reinstated' END, turning.id] AS turned LIMIT 1
  }
  OPTIONAL CALL (shown) {
    MATCH (shown)-[:HAS_HISTORY]->(:History)-[:OBSERVED]->(ending:Observation)-[:IN_TRANSACTION]->(deleting:Transaction)
    WHERE NOT shown.live AND ending.kind = 'delete'
    RETURN deleting.id AS deleted_in ORDER BY deleting.recorded_at DESC LIMIT 1
  }
  WITH number, subject, field, was, coalesce(observation.id, CASE WHEN source IS NULL THEN id END) AS id, observation, source,
    transaction, CASE
      WHEN source IS NOT NULL THEN [CASE WHEN size(coalesce(source.excluded, [])) % 2 = 1 THEN 'withdrawn' ELSE 'unchanged' END]
      WHEN observation IS NULL THEN ['erased', null]
      WHEN turned[0] = 'withdrawn' THEN turned
      WHEN divided IS NOT NULL OR parted IS NOT NULL THEN coalesce(divided, parted)
      WHEN NOT coalesce(shown.live, false) THEN ['deleted', deleted_in]
      WHEN field <> '' AND size(winners) = 0 AND schema_changed IS NOT NULL THEN ['hidden', schema_changed[1]]
      ELSE coalesce(replaced, ['unchanged', null]) END AS state,
    CASE WHEN observation.recorded_at > $at
        THEN [CASE observation.kind WHEN 'correction' THEN 'corrected' ELSE 'new_facts' END, transaction.id]
      WHEN turned[0] = 'reinstated' AND observation.excluded[-1] > $at THEN turned
      ELSE coalesce(divided, schema_changed, [null, null]) END AS reason
  WITH *, [state[0] = 'unchanged' OR NOT was, CASE state[0] WHEN 'replaced' THEN 'new_facts' WHEN 'hidden' THEN 'schema'
    ELSE state[0] END] AS stated
  RETURN collect([id, subject, field, state[0], state[1], coalesce(observation.source_id, source.id), observation.agent,
    transaction.client, transaction.by, number, CASE WHEN stated[0] THEN reason[0] ELSE stated[1] END,
    CASE WHEN stated[0] THEN reason[1] ELSE state[1] END]) AS states
}
CALL () {
  OPTIONAL MATCH (owner:Owner {id: $owner})
  RETURN coalesce(owner.sequence, 0) AS sequence
}
RETURN states, sequence
