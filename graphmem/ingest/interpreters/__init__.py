"""From documents to proposals by rule: one module per interpreter. No database, no network, no clock here.

Nothing is guessed: what a rule cannot know is left out, and a warning says so.
"""

from graphmem.ingest.interpreters.interpreter_table import (
    Interpreter,
    InterpreterOptions,
    interpreter_for,
    propose,
)

__all__ = ["Interpreter", "InterpreterOptions", "interpreter_for", "propose"]
