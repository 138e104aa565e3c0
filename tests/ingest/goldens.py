"""The expected document and proposal of each fixture.

`python -m tests.ingest.goldens --write` writes them anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from graphmem.ingest import InterpretationFailed, propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParseFailed
from tests.support.proposals import plain

FOLDER = Path(__file__).parent
FILES = sorted(path for path in (FOLDER / "files").iterdir() if path.is_file())


def golden(file: Path) -> Path:
    """Return where the expected document of a fixture stands."""
    return FOLDER / "golden" / f"{file.name}.json"


def golden_proposal(file: Path) -> Path:
    """Return where the expected proposal of a fixture stands."""
    return FOLDER / "golden" / f"{file.name}.proposal.json"


def document(file: Path) -> dict[str, Any]:
    """Return what a fixture parses to, without the releases of libraries."""
    try:
        parsed = parsed_here(file.read_bytes(), None, file.name, DocumentLimits())
    except ParseFailed as exc:
        return {"failed": {"reason": exc.reason, "code": exc.code}}
    version = parsed.parser_version.partition(" ")[0]
    value = {**parsed.head(), "parts": list(parsed.parts), "parser_version": version}
    return json.loads(json.dumps(plain(value)))


def proposal(file: Path) -> dict[str, Any]:
    """Return what the interpreter of its format proposes for a fixture."""
    try:
        parsed = parsed_here(file.read_bytes(), None, file.name, DocumentLimits())
        value = propose(parsed, file_name=file.name)
    except (ParseFailed, InterpretationFailed) as exc:
        return {"failed": exc.reason}
    return json.loads(json.dumps(plain(value)))


def main() -> None:
    """Write every expected document and proposal."""
    if sys.argv[1:] != ["--write"]:
        raise SystemExit("usage: python -m tests.ingest.goldens --write")
    for file in FILES:
        for path, value in ((golden(file), document(file)), (golden_proposal(file), proposal(file))):
            path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
