"""``graphmem update check`` and ``graphmem scripts``: the newest version, and the targets of a checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import typer

from graphmem import __version__
from graphmem.cli.session import Session, run_async
from graphmem.errors import InvalidInput

INDEX_SECONDS: Final = 20.0  # seconds that the package index may take
INDEX_BYTES_LIMIT: Final = 8 << 20  # an index names each file of each version with its hashes
_FINAL: Final = re.compile(r"\d+(\.\d+)*")
_TARGET: Final = re.compile(r"^([a-z-]+):.*## (.*)$", re.MULTILINE)


def check(session: Session) -> dict[str, Any]:
    from graphmem.auth.guarded_fetch import FetchRefused

    index = session.settings().update_index
    way, update = _installed()
    answer: dict[str, Any] = {"version": __version__, "installed_with": way, "newest": None, "newer": []}
    if index == "off":
        return answer | {"message": "the package index was not asked: that is turned off", "update": update}
    try:
        versions, changes = _released(f"{index.rstrip('/')}/pypi/graphmem/json")
    except FetchRefused as fault:
        return answer | {"message": f"the package index does not say: {fault}", "update": update}
    newer = [version for version in versions if _order(version) > _order(__version__)]
    if not newer:
        return answer | {"newest": versions[0], "message": "this is the newest version", "update": None}
    message = f"{versions[0]} is there"
    return answer | {
        "newest": versions[0], "newer": newer, "message": message, "changes": changes, "update": update
    }  # fmt: skip


def _released(url: str) -> tuple[list[str], str | None]:
    """Return the final versions that an index has, the newest first, and where it says what changed.

    FetchRefused: it does not answer, or has no version.
    """
    from graphmem.auth.guarded_fetch import Fetcher, FetchRefused

    fetcher = Fetcher(seconds=INDEX_SECONDS, bytes_limit=INDEX_BYTES_LIMIT)
    project = run_async(fetcher.fetch_json(url)).members
    try:
        files = project["releases"].items()
        versions = [name for name, of in files if _FINAL.fullmatch(name) and not all(f["yanked"] for f in of)]
        info = project["info"]
        changes = (info.get("project_urls") or {}).get("Changelog") or info["release_url"]
    except (LookupError, TypeError, AttributeError) as exc:
        raise FetchRefused("document", "it answers something else than a package index") from exc
    if not versions:
        raise FetchRefused("document", "it lists no version")
    return sorted(versions, key=_order, reverse=True), changes


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def _installed() -> tuple[str, str]:
    """Return with what graphmem was installed, and the command that updates it."""
    from importlib import metadata

    prefix = Path(sys.prefix)
    if (root := checkout()) is not None:
        return "checkout", f"git -C {root} pull --ff-only && make -C {root} .venv/installed"
    if "pipx" in prefix.parts:
        return "pipx", "pipx upgrade graphmem"
    if "uv" in prefix.parts and "tools" in prefix.parts:
        return "uv tool", "uv tool upgrade graphmem"
    if "uv" in prefix.parts:
        return "uvx", "uvx --refresh graphmem --version"
    try:
        installer = (metadata.distribution("graphmem").read_text("INSTALLER") or "").strip()
    except metadata.PackageNotFoundError:
        installer = ""
    if installer == "uv":
        return "uv", f"uv pip install --python {sys.executable} --upgrade graphmem"
    return "pip", f"{sys.executable} -m pip install --upgrade graphmem"


def checkout() -> Path | None:
    """Return the root of the checkout from which graphmem runs; None if it was installed."""
    root = Path(__file__).parents[2]
    return root if (root / "Makefile").is_file() and (root / "pyproject.toml").is_file() else None


def scripts(session: Session, name: str | None = None) -> dict[str, Any]:
    root = checkout()
    if root is None:
        raise InvalidInput(
            "graphmem was installed as a package; its scripts are in the repository: take a checkout of it"
        )
    targets = dict(_TARGET.findall((root / "Makefile").read_text("utf-8")))
    if name is None:
        return targets
    if name not in targets:
        raise InvalidInput(f"the Makefile has no target {name!r}: there are {', '.join(targets)}")
    raise typer.Exit(subprocess.run(["make", "-C", str(root), name], check=False).returncode)
