"""The tables of data that stand beside the modules of the model."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def read(name: str) -> dict[str, Any]:
    """Return what ``name.toml`` holds."""
    return tomllib.loads(resources.files("graphmem.model").joinpath(f"{name}.toml").read_text("utf-8"))
