"""Similarity of entities, ranking of context lines, candidates for schemas.

Any of it may change any day: no stored fact depends on it.
"""
