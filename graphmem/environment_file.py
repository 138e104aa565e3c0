"""Where the data of an instance is, and the file of environment variables in it.

A *note* (``data-at``) in a data directory says that the data is elsewhere: whoever names the directory is led
there. Hooks of agents read this too, so nothing heavy is imported.
"""

import os
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Final

import platformdirs

FILE: Final = "graphmem.env"
NOTE: Final = "data-at"
HEAD: Final = (
    "# One NAME=value a line; the environment wins over it. `graphmem settings` shows every setting.\n"
)
OUTSIDE: Final = ("GRAPHMEM_ENV", "GRAPHMEM_DATA_DIR")
"""Variables that say where the file is, so they cannot stand in it."""

_applied: dict[str, str] = {}  # the variables of this process that came from the file


def default_directory(env: str) -> Path:
    """Return the data directory of an instance where nothing names another one."""
    return platformdirs.user_data_path("graphmem", appauthor=False) / env


def directory(named: str | Path | None, env: str) -> Path:
    """Return the real path of the data directory, without links and ``..``, where its notes lead to."""
    # Path.resolve raises for a circle of links; os.path.realpath leaves the error to the first use.
    path = Path(os.path.realpath(named or default_directory(env)))
    seen: set[Path] = set()
    while path not in seen and (other := noted(path)):
        seen.add(path)
        path = other
    return path


def noted(folder: Path) -> Path | None:
    """Return where a directory's note says that its data is, None if there is none."""
    try:
        text = (folder / NOTE).read_text("utf-8").strip()
    except (OSError, ValueError):
        return None
    return Path(os.path.realpath(text)) if os.path.isabs(text) else None


def read(folder: Path) -> dict[str, str]:
    """Return the variables in the file of a data directory; raises OSError, ValueError: it cannot be read."""
    path = folder / FILE
    # Path.exists raises below a directory that this user may not search; the first use of it reports that.
    if not os.path.exists(path):
        return {}
    from dotenv.parser import parse_stream

    values = {}
    with path.open(encoding="utf-8") as file:
        for line in parse_stream(file):
            if line.error or (line.key is not None and line.value is None):
                raise ValueError(f"line {line.original.line} is no NAME=value")
            if line.key in OUTSIDE:
                raise ValueError(f"{line.key} says where this file is: set it outside of the file")
            if line.key is not None:
                values[line.key] = line.value or ""
    return values


def apply(folder: Path) -> None:
    """Set the variables of the file that the environment of this process does not have. What an earlier call
    set, for another directory perhaps, is taken back first."""
    for name, value in _applied.items():
        if os.environ.get(name) == value:
            del os.environ[name]
    _applied.clear()
    own = {name.upper() for name, value in os.environ.items() if value}
    for name, value in read(folder).items():
        if name.upper() not in own:
            os.environ[name] = _applied[name] = value


def applied() -> frozenset[str]:
    """Return the names of the variables that came from the file, in capitals."""
    return frozenset(name.upper() for name in _applied)


def changed(folder: Path, values: Mapping[str, str | None]) -> str:
    """Return the text of the file with other values, None without the variable. Every other line stays."""
    from dotenv.parser import parse_stream

    path = folder / FILE
    text = path.read_text("utf-8") if path.exists() else HEAD
    parts = [line.original.string for line in parse_stream(StringIO(text)) if line.key not in values]
    if parts and not parts[-1].endswith("\n"):
        parts.append("\n")
    for name, value in values.items():
        if value is not None:
            quoted = value.replace("\\", "\\\\").replace("'", "\\'")
            parts.append(f"{name}='{quoted}'\n")
    return "".join(parts)
