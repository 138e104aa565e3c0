"""From bytes to documents to what can be stored: a module per format. No database and no network here."""

from graphmem.ingest.interpreters import interpreter_for, propose
from graphmem.ingest.proposal import InterpretationFailed, Proposal

__all__ = ["InterpretationFailed", "Proposal", "interpreter_for", "propose"]
