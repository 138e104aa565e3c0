"""Search: what finds entities. The copy of an owner in memory, ranking, identifiers, look-ups and pages."""
