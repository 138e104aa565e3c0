// Create the transactions of a turn, with their agents.
UNWIND $transactions AS row
CREATE (transaction:Transaction)
SET transaction = row.properties
MERGE (agent:Agent {id: row.agent.id})
ON CREATE SET agent += row.agent.properties
CREATE (transaction)-[:BY_AGENT]->(agent)
