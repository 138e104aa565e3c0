"""The tables of data (TOML) that stand beside the modules of this package."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parent


@cache
def read(place: str) -> dict[str, Any]:
    """Return what a table holds, by its path in the package: ``read("ingest/formats")``."""
    return tomllib.loads((_PACKAGE / f"{place}.toml").read_text("utf-8"))
