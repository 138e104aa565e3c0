"""Which modules a command imports."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping

HEAVY = {
    "graphmem.operations",
    "graphmem.registry",
    "graphmem.database.driver",
    "graphmem.runtime",
    "graphmem.neo4j_local",
    "boto3",
    "botocore",
    "mcp",
    "mcp_types",
    "neo4j",
    "structlog",
}
"""What a command imports only to work in its own process."""


def imported(*words: str, stdin: str = "", environ: Mapping[str, str] | None = None) -> tuple[set[str], str]:
    """Run ``graphmem`` with these words; return the modules that it imported, and its answer."""
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "graphmem", *words],
        input=stdin,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(re.findall(r"^import time:.*\| +(\S+)$", ended.stderr, re.MULTILINE)), ended.stdout


def imported_by(script: str, *words: str) -> set[str]:
    """Run a Python script; return the modules that it imported."""
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", script, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(re.findall(r"^import time:.*\| +(\S+)$", ended.stderr, re.MULTILINE))
