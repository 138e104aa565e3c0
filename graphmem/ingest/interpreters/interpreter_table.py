"""The interpreters: which formats each one reads, and its version.

Other distributions add one by an entry point of the group `graphmem.interpreters`: its name is that of the
interpreter, its object an :class:`Interpreter`. Entry points are loaded when something is interpreted.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from graphmem.ingest.document import ParsedDocument
from graphmem.ingest.format_table import FORMATS, TABLES
from graphmem.ingest.proposal import InterpretationFailed, Proposal

ENTRY_POINTS = "graphmem.interpreters"
REASON_CHARACTERS_LIMIT = 500
NAME_SHAPE = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class InterpreterOptions:
    """What an interpreter knows beside the document. ``configuration`` has only keys that it declares."""

    file_name: str | None = None
    configuration: Mapping[str, Any] = field(default_factory=dict)


Propose = Callable[[ParsedDocument, InterpreterOptions], Proposal]


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter. ``module`` is the full name of a module with ``propose``, a :data:`Propose`."""

    name: str
    version: int  # rises with every change of what the module proposes for the same document
    formats: tuple[str, ...]  # names of formats, as in :mod:`graphmem.ingest.format_table`
    module: str
    by_default: bool = True  # whether it reads its formats where no interpreter is named
    configuration_keys: tuple[str, ...] = ()  # the keys that its configuration may have

    def load(self) -> Propose:
        return importlib.import_module(self.module).propose


def _shipped(
    name: str, formats: list[str], module: str = "", types: bool = False, version: int = 1
) -> Interpreter:
    """Return an interpreter; one that shares the module of another is not used by default."""
    place, keys = f"{__package__}.interpret_{module or name}", ("entity_type",) if types else ()
    return Interpreter(name, version, tuple(formats), place, not module, keys)


INTERPRETERS = tuple(_shipped(name, **table) for name, table in TABLES["interpreters"].items())
"""The interpreters of graphmem. The first one that reads a format by default is used for it."""
BY_NAME = {interpreter.name: interpreter for interpreter in INTERPRETERS}


def interpreter_for(format: str, name: str | None = None) -> Interpreter:
    """Return the named interpreter, else the first that reads the format by default, added ones first."""
    if name is not None:
        point = _entry_points().get(name)
        interpreter = BY_NAME.get(name) or (_loaded(point) if point is not None else None)
        if interpreter is None:
            raise InterpretationFailed(f"There is no interpreter {name[:100]!r}.")
        if format not in interpreter.formats:
            raise InterpretationFailed(f"The interpreter {name} does not read the format {format}.")
        return interpreter
    added = [_loaded(point) for _, point in sorted(_entry_points().items())]
    for interpreter in (*added, *INTERPRETERS):
        if interpreter.by_default and format in interpreter.formats:
            return interpreter
    raise InterpretationFailed(f"No interpreter reads the format {format}.")


def propose(
    document: ParsedDocument,
    name: str | None = None,
    *,
    file_name: str | None = None,
    configuration: Mapping[str, Any] | None = None,
) -> Proposal:
    """Return the entities and relationships of a document, as an interpreter reads it.

    Args:
        name: that of the interpreter; by default the one that reads the format of the document.
        file_name: the name under which the file was stored.
        configuration: ``entity_type`` for interpreters that take it.
    """
    interpreter = interpreter_for(document.format, name)
    unknown = set(configuration or ()) - set(interpreter.configuration_keys)
    if unknown:
        raise InterpretationFailed(
            f"The interpreter {interpreter.name} has no configuration {', '.join(sorted(unknown))[:200]}."
        )
    options = InterpreterOptions(file_name, dict(configuration or {}))
    if interpreter.name in BY_NAME:
        return interpreter.load()(document, options)
    # What an interpreter that others wrote proposes goes through the rules of all proposals.
    from graphmem.ingest.interpreters.proposal_draft import redraft

    try:
        return redraft(interpreter.load()(document, options))
    except InterpretationFailed as exc:
        raise InterpretationFailed(f"The interpreter {interpreter.name} has failed: {exc.reason}") from exc
    except Exception as exc:
        raise _broken(interpreter.name, exc) from exc


@cache
def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=ENTRY_POINTS)}


def _loaded(point: importlib.metadata.EntryPoint) -> Interpreter:
    try:
        interpreter = point.load()
        _check(point.name, interpreter)
    except Exception as exc:
        raise _broken(point.name, exc) from exc
    return interpreter


def _check(name: str, interpreter: object) -> None:
    if not isinstance(interpreter, Interpreter):
        raise ValueError(f"its entry point is no {Interpreter.__name__}")
    if interpreter.name != name or NAME_SHAPE.fullmatch(name) is None or name in BY_NAME:
        raise ValueError(f"its name is {interpreter.name!r}: it must be that of its entry point, and new")
    if type(interpreter.version) is not int or interpreter.version < 1:
        raise ValueError("its version is no integer from 1")
    unknown = set(interpreter.formats) - {row.name for row in FORMATS}
    if unknown:
        raise ValueError(f"there is no format {', '.join(sorted(map(str, unknown)))}")


def _broken(name: str, exc: Exception) -> InterpretationFailed:
    reason = f"The interpreter {name} is broken: {type(exc).__name__}: {exc}"
    return InterpretationFailed(reason[:REASON_CHARACTERS_LIMIT])
