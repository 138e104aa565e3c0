"""One module per format: its ``parse(data, name, limits)`` and the only import of its libraries."""
