// dump.page: a stretch of an owner's transactions with their observations, in the order in which they were recorded.
//
// params  since: INTEGER, after: STRING, sequence: INTEGER, limit: INTEGER
// returns transactions: LIST<LIST>, more: BOOLEAN
// mode    read
// index   transaction_by_recorded (owner, recorded_at, id)
// cost    heavy
// The stretch begins after the transaction `after` of the time `since`. It ends early if its values are large.
CALL () {
  MATCH (transaction:Transaction)
  USING INDEX SEEK transaction:Transaction(owner, recorded_at, id)
  WHERE transaction.owner = $owner AND transaction.recorded_at >= $since AND transaction.id IS NOT NULL
    AND CASE transaction.recorded_at WHEN $since THEN transaction.id > $after ELSE true END
    AND transaction.sequence <= $sequence
  WITH transaction ORDER BY transaction.owner, transaction.recorded_at, transaction.id LIMIT $limit
  RETURN collect(transaction) AS stretch
}
WITH stretch, [transaction IN stretch | size(transaction.answer) + reduce(characters = 500, size IN COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(observation:Observation)
    RETURN observation.size
  } | characters + size + 500)] AS sizes
WITH stretch, <entity._fitting> AS fitting
RETURN [transaction IN stretch[..fitting] |
  [<dump._transaction>,
    COLLECT {
      MATCH (transaction)-[stored:stored]->(source:Source)
      WITH source, stored ORDER BY source.id
      RETURN <dump._source>
    },
    COLLECT {
      MATCH (transaction)-[:ended]->(interpretation:Interpretation)
      WITH interpretation ORDER BY interpretation.id
      RETURN <dump._interpretation>
    },
    COLLECT {
      MATCH (transaction)<-[:IN_TRANSACTION]-(exclusion:Exclusion)
      WITH exclusion ORDER BY exclusion.id
      RETURN <dump._exclusion>
    },
    COLLECT {
      MATCH (transaction)<-[:IN_TRANSACTION]-(dismissal:Dismissal)
      WITH dismissal ORDER BY dismissal.id
      RETURN <dump._dismissal>
    },
    COLLECT {
      MATCH (transaction)<-[:IN_TRANSACTION]-(observation:Observation)
      WITH observation ORDER BY observation.id
      RETURN <dump._observation>
    },
    COLLECT {
      MATCH (transaction)<-[:also_in]-(observation:Observation)
      WITH observation.id AS id ORDER BY id
      RETURN [id]
    },
    COLLECT {
      MATCH (transaction)<-[:IN_TRANSACTION]-(split:Split)
      WITH split ORDER BY split.id
      RETURN <dump._split>
    },
    COLLECT {
      MATCH (transaction)<-[:IN_TRANSACTION]-(renaming:Renaming)
      WITH renaming ORDER BY renaming.id
      RETURN <dump._renaming>
    }]] AS transactions,
  size(stretch) = $limit OR fitting < size(stretch) AS more
