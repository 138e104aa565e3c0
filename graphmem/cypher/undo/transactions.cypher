// undo.transactions: transactions to undo: some by their ids, or the newest of a writer, the newest first, with what they
// recorded.
//
// params  transaction_ids: LIST<STRING>, agent_id: STRING, copy: STRING, since: INTEGER, limit: INTEGER
// returns transactions: LIST<LIST>
// mode    read
// index   transaction_id, transaction_by_recorded (owner, recorded_at, id), read backwards,
//         exclusion_by_subject (owner, subject, recorded_at, id)
// cost    heavy
// `agent_id` is the writer, and `copy` the copy by which transactions came; one is empty, both where ids are given. Of a writer come those that were not undone and that undo nothing.
// Of the withdrawals of a transaction come those that are the newest of their subjects.
CALL () {
  UNWIND $transaction_ids AS id
  MATCH (transaction:Transaction {id: id})
  WHERE transaction.owner = $owner
  RETURN transaction
  UNION ALL
  WITH $agent_id AS agent_id, $copy AS copy WHERE agent_id <> '' OR copy <> ''
  MATCH (transaction:Transaction)
  USING INDEX SEEK transaction:Transaction(owner, recorded_at, id)
  WHERE transaction.owner = $owner AND transaction.recorded_at >= $since AND transaction.id IS NOT NULL
    AND transaction.operation <> 'undo' AND size(coalesce(transaction.excluded, [])) % 2 = 0
    AND (transaction.copy = copy OR EXISTS { MATCH (transaction)-[:BY_AGENT]->(agent) WHERE agent.id = agent_id })
    AND (EXISTS { (transaction)<-[:IN_TRANSACTION|also_in]-(:Observation) }
      OR EXISTS { (transaction)<-[:IN_TRANSACTION]-(:Exclusion|Split) })
  RETURN transaction
  ORDER BY transaction.owner DESC, transaction.recorded_at DESC, transaction.id DESC LIMIT $limit
}
RETURN collect([transaction.id, transaction.recorded_at, transaction.operation,
  size(coalesce(transaction.excluded, [])) % 2 = 1,
  COUNT {
    MATCH (transaction)<-[:IN_TRANSACTION|also_in]-(observation:Observation)
    WHERE NOT observation.kind IN <fact._merge_kinds>
  },
  COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(exclusion:Exclusion)
    WHERE NOT EXISTS {
      MATCH (newer:Exclusion)
      USING INDEX SEEK newer:Exclusion(owner, subject, recorded_at, id)
      WHERE newer.owner = $owner AND newer.subject = exclusion.subject AND newer.recorded_at > exclusion.recorded_at
        AND newer.id IS NOT NULL
    }
    WITH exclusion ORDER BY exclusion.id
    RETURN [exclusion.kind, exclusion.subject_kind, exclusion.subject]
  },
  COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(split:Split)
    WHERE size(coalesce(split.excluded, [])) % 2 = 0
    RETURN split.id
  },
  COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(merge:Observation)
    WHERE merge.kind = 'merge'
    RETURN merge.entity_id
  },
  COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(merge:Observation)
    WHERE merge.kind IN <fact._merge_kinds>
    RETURN 'a merge, or its end' AS kept
    UNION
    MATCH (transaction)<-[:IN_TRANSACTION]-(:Schema) RETURN 'the change of a schema' AS kept
    UNION
    MATCH (transaction)<-[:IN_TRANSACTION]-(:Renaming) RETURN 'the name of a relationship type' AS kept
    UNION
    MATCH (transaction)<-[:IN_TRANSACTION]-(:Dismissal) RETURN 'that two entities are, or are not, the same' AS kept
    UNION
    MATCH (transaction)-[:stored]->(:Source) RETURN 'a stored file' AS kept
  }]) AS transactions
