"""Similarity, blocking and ranking: what may change any day, because nothing stored depends on it."""
