"""The process that parses: one file on its standard input, the document on its standard output.

`python -m graphmem.ingest.child REQUEST`, where REQUEST is JSON: the declared type, the name and the limits.
The first line of the output is the head of the document, or `{"failed": {"reason", "code"}}`.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from graphmem.ingest.detection import detect, essence
from graphmem.ingest.document import REASON_CHARACTERS_LIMIT, Document, Limits, ParseFailed, lines
from graphmem.ingest.table import Format

OPEN_FILES_LIMIT = 64
TRACEBACK_VARIABLE = "GRAPHMEM_PARSER_TRACEBACK"


def main() -> None:
    """Parse one file as the first argument says."""
    request = json.loads(sys.argv[1])
    limits = Limits(**request["limits"])
    restrict(limits)
    # The process ends with its file: cycles are not worth a search.
    gc.disable()
    with os.fdopen(0, "rb") as source:
        data = source.read(limits.file_bytes + 1)
    with os.fdopen(os.dup(1), "wb") as answer:
        for line in answered(data, request["declared"], request["name"], limits):
            answer.write(line)


def restrict(limits: Limits) -> None:
    """Bound CPU, memory and open files; the process can neither write files nor start processes."""
    bounds = {
        resource.RLIMIT_CPU: limits.cpu_seconds,
        resource.RLIMIT_AS: limits.address_space_bytes,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: OPEN_FILES_LIMIT,
        resource.RLIMIT_NPROC: 0,
    }
    for kind, bound in bounds.items():
        hard = resource.getrlimit(kind)[1]
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (bound, bound))


def answered(data: bytes, declared: str | None, name: str, limits: Limits) -> Iterator[bytes]:
    """Yield the lines of the answer."""
    try:
        yield from lines(parsed_here(data, declared, name, limits))
    except ParseFailed as exc:
        reason = exc.reason.encode(errors="replace").decode()
        yield json.dumps({"failed": {"reason": reason, "code": exc.code}}).encode() + b"\n"


def parsed_here(data: bytes, declared: str | None, name: str, limits: Limits) -> Document:
    """Parse in this process, without its limits on time and memory.

    Raises:
        ParseFailed: every failure, whatever the library raised.
    """
    if not data:
        raise ParseFailed("The file is empty.", "empty")
    if len(data) > limits.file_bytes:
        raise ParseFailed(f"The file has more than {limits.file_bytes:,} bytes.", "too_large")
    title = "file"
    try:
        format = detect(data, declared, name, limits)
        title = format.title
        document = format.load()(data, name, limits)
    except ParseFailed:
        raise
    except MemoryError:
        raise ParseFailed(
            f"The parser needs more than {limits.address_space_bytes:,} bytes of memory.", "limit_exceeded"
        ) from None
    except RecursionError:
        raise ParseFailed(f"The {title} is nested too deeply.", "limit_exceeded") from None
    except Exception as exc:
        if os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exc()
        reason = f"The {title} is damaged: {type(exc).__name__}: {exc}"
        raise ParseFailed(reason[:REASON_CHARACTERS_LIMIT], "damaged") from exc
    return with_declared(document, declared, format)


def with_declared(document: Document, declared: str | None, format: Format) -> Document:
    """Add the declared type to the metadata; where the content contradicts it, the detected type too."""
    declared_type = essence(declared)
    if declared_type is None:
        return document
    metadata: dict[str, Any] = {**document.metadata, "declared_type": declared_type}
    warnings = document.warnings
    if declared_type not in format.media_types and declared_type != document.media_type:
        metadata["media_type"] = document.media_type
        warnings = (
            *warnings,
            f"The content decides: it is {document.media_type}, and {declared_type} was declared.",
        )
    return replace(document, metadata=metadata, warnings=warnings)


if __name__ == "__main__":
    main()
