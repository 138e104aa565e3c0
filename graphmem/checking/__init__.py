"""Checking what is derived against the facts, and deriving it again."""
