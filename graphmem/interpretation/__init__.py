"""Interpreting sources: from the bytes of a file to observations in the graph, now or by the worker.

:mod:`graphmem.interpretation.runs` runs an interpreter over a source. Files that are small are interpreted
before their store is answered; others wait for the worker in
:mod:`graphmem.interpretation.runs`.
"""

from graphmem.interpretation.runs import InterpretedFile, interpret, interpret_stored, run_next
from graphmem.interpretation.source_passages import make_passages

__all__ = ["InterpretedFile", "interpret", "interpret_stored", "make_passages", "run_next"]
