// dump.lose: keep a fact of an owner that contradicts another one, which counts. It loses its place: a version of a schema
// its node, a transaction its idempotency key.
//
// params  id: STRING, properties: MAP, schema_id: STRING, transaction_id: STRING
// returns kept: BOOLEAN
// mode    write
// index   lost_fact_id, lost_fact_by_recorded (owner, recorded_at, id), schema_id, transaction_id
// cost    light
// sealing properties: map lost_fact at id, id: clear, schema_id: clear
// `schema_id` is that of the version that is stored, and `transaction_id` that of the transaction that has the key; either is
// empty where what is stored has no place to lose. What lost to a key that is lost itself now, lost to the one that counts.
MERGE (lost:LostFact {id: $id})
SET lost += $properties, lost.owner = $owner
WITH lost
CALL (lost) {
  MATCH (other:LostFact)
  USING INDEX SEEK other:LostFact(owner, recorded_at, id)
  WHERE other.owner = $owner AND other.recorded_at IS NOT NULL AND other.id IS NOT NULL
    AND other.kind = lost.kind AND lost.kind = 'idempotency_key' AND other.winner = lost.transaction
  SET other.winner = lost.winner
}
CALL () {
  MATCH (schema:Schema {id: $schema_id})
  WHERE schema.owner = $owner
  DETACH DELETE schema
}
CALL () {
  MATCH (transaction:Transaction {id: $transaction_id})
  WHERE transaction.owner = $owner AND transaction.idempotency_key IS NOT NULL
  SET transaction.lost_key = transaction.idempotency_key
  SET transaction.idempotency_key = null
}
RETURN true AS kept
