"""Likely duplicates: which pairs of entities are compared, how similar they are, and pages of such pairs."""
