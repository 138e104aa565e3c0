// One grant of an agent; in Python: graphmem.auth.agent_grants.AgentGrant. Takes `grant`.
[grant.id, grant.label, grant.thumbprint, grant.issuer, grant.subject, grant.capabilities, grant.status, grant.created_at]
