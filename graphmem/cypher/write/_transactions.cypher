// Create the transactions of a turn, with their agents.
UNWIND $transactions AS row
CREATE (transaction:Transaction)
SET transaction = row.properties
MERGE (agent:Agent {id: row.agent_id})
ON CREATE SET agent.owner = $owner, agent.thumbprint = row.agent
CREATE (transaction)-[:BY_AGENT]->(agent)
