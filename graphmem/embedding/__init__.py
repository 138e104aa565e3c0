"""Vectors: what of an entity is embedded, and the two embedders."""
