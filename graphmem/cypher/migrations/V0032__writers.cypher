// Who wrote, by owner: an agent is an account with its credential and its client, and an agent that signed.
CREATE INDEX agent_by_owner IF NOT EXISTS FOR (n:Agent) ON (n.owner);
