"""Small files in the user's data directory that say what the person did: one JSON object each, mode 0600."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import platformdirs


def data_folder() -> Path:
    """Return the user's data directory of graphmem, above those of the instances."""
    return platformdirs.user_data_path("graphmem", appauthor=False)


def kept(name: str) -> dict[str, Any]:
    """Return the content of a file, nothing if there is none."""
    try:
        return json.loads((data_folder() / name).read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def keep(name: str, key: str, value: Any) -> None:
    """Set a member of a file; None takes it out."""
    from graphmem.neo4j_local.private_files import changing, write_private

    path = data_folder() / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with changing(path):
        others = {each: known for each, known in kept(name).items() if each != key}
        write_private(path, json.dumps(others if value is None else {**others, key: value}))
