"""Likely duplicates: which pairs of entities are compared, how similar they are, and pages of such pairs."""

import tomllib
from importlib import resources
from typing import Any, Final

_FILE = resources.files(__name__).joinpath("comparison.toml")
TABLES: Final[dict[str, dict[str, Any]]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
"""What is compared, and how much it counts."""
