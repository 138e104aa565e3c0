"""Similarity of entities, ranking of context lines, candidates for schemas, near spellings.

This package may change at any time: no stored data depends on it.
"""
