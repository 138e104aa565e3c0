"""What a command has begun with a data directory and not finished: then the database must not start there."""

import json
from pathlib import Path
from typing import Any, Final

from graphmem.environment_file import noted
from graphmem.errors import DataDirectoryRefused

UNFINISHED: Final = "unfinished.json"
"""The file that says what was begun: the ``command``, and for a move ``from`` where."""


def unfinished(root: Path) -> dict[str, Any] | None:
    """Return what was begun with a data directory, None if nothing was."""
    try:
        return json.loads((root / UNFINISHED).read_text("utf-8"))
    except FileNotFoundError:
        return None


def refuse_unfinished(root: Path) -> None:
    """Raise DataDirectoryRefused where the data is elsewhere by now, or is not whole."""
    if noted(root) not in (None, root):
        raise DataDirectoryRefused(f"the data of {root} has moved to {noted(root)}: run this again")
    begun = unfinished(root)
    if begun is None:
        return
    if "from" in begun and root in (noted(root), noted(Path(begun["from"]))):
        # The move has switched to this directory; only the old files are left to remove.
        return
    raise DataDirectoryRefused(
        f"`graphmem {begun['command']}` was not finished in {root}: run it again, it goes on"
    )
