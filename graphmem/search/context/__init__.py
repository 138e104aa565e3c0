"""Context for an agent: lines about a question or an entity, ranked and cut to a budget of tokens."""
