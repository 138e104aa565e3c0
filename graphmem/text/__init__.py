"""Normal forms of words and identifiers, for search and look-up."""
