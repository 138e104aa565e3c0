"""graphmem: observations in, snapshots with provenance out, on a graph database."""

__version__ = "0.1.0"
"""The version of the package. ``pyproject.toml`` reads it here: the installed metadata takes long to read."""
