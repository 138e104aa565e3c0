"""Vectors: the text of an entity that is embedded, and the two embedders."""
