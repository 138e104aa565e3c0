"""What a question says: its words, and the names and identifiers in it."""
