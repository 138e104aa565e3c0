"""graphmem: observations in, snapshots with provenance out, on a graph database."""

from importlib.metadata import version

__version__ = version("graphmem")
