// copy.recorded: those of some transactions that an owner has, each with the ids of its facts, but for observations.
//
// params  transactions: LIST<STRING>
// returns recorded: LIST<LIST>
// mode    read
// index   transaction_id
// cost    light
UNWIND $transactions AS id
MATCH (transaction:Transaction {id: id})
WHERE transaction.owner = $owner
RETURN collect([id, COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(fact)
    WHERE NOT fact:Observation AND NOT fact:Schema
    RETURN fact.id
  } + COLLECT {
    MATCH (transaction)-[:stored|ended]->(fact)
    RETURN fact.id
  }]) AS recorded
