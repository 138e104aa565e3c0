"""What a person reads of an error: options in place of paths of the request, and each message once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from graphmem import tables
from graphmem.errors import GraphmemError

Place = Callable[[str], str]
"""Returns the option or argument that a path of the request, such as ``$.limit``, stands for."""

LINES_LIMIT = 20  # issues, and elements of one detail, that are printed; ``--json`` prints all

_DEFAULT_MESSAGES = tables.read("cli/error_messages")
"""Messages of the command line, where the default message speaks of headers and bodies."""
_PATH = re.compile(r"\$(?:\.\w+(?:-\w+)*|\[\d+\])+")
_POINTER_TO_DETAILS = re.compile(r": details(?:\.\w+)? names? [^.]*|: details\.\w+ lists [^.]*")
_UNPRINTED = frozenset({"issues", "log", "operation", "json_paths", "unknown_fields", "retryable", "setting"})
"""Details that are printed in another form, or that say nothing more than the message."""


def error_lines(error: GraphmemError, place: Place = str) -> list[str]:
    """Return the lines that a person reads of an error; the first is its message."""

    def translated(text: str) -> str:
        return _PATH.sub(lambda match: place(match[0]), text)

    message = translated(_message(error))
    lines = [message]
    for issue in error.details.get("issues", [])[:LINES_LIMIT]:
        text = translated(str(issue.get("message", "")))
        # The message of an error may stand in other words here, so its own words are compared too.
        if text not in message and text != str(error):
            where = place(str(issue.get("path", "")))
            lines.append(f"  {where}: {text}" if where not in ("", "$") else f"  {text}")
    lines += [f"  {line}" for line in _detail_lines(error, message)]
    return lines + [f"  | {line}" for line in error.details.get("log", [])[-LINES_LIMIT:]]


def _message(error: GraphmemError) -> str:
    """Return the message without what it says of ``details``: those are printed below it."""
    text = str(error)
    if text == error.default_message():
        text = _DEFAULT_MESSAGES.get(error.code, text)
    return _POINTER_TO_DETAILS.sub("", text)


def _detail_lines(error: GraphmemError, message: str) -> Iterator[str]:
    for name, value in error.details.items():
        elements = [str(part) for part in (value if isinstance(value, list) else [value])][:LINES_LIMIT]
        text = ", ".join(elements)
        if name in _UNPRINTED or isinstance(value, dict) or any(part.startswith("{") for part in elements):
            continue
        if text and text not in message and value is not None:
            yield f"{name}: {text}"
