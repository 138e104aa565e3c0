"""What `.graphmem.toml` says of a folder, and which of these files the person has approved.

off     true, or a list of session-start, prompt and stop: what is not done here
types   the types of entities that are told here
redact  texts that are never stored
about   whom or what the folder is about; account and base_url, which memory is used here: these three hold
        only after an approval, because a repository may bring the file
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from graphmem.cli.agents import hook_call
from graphmem.cli.agents.kept_files import keep, kept

APPROVALS = "approved.json"
KINDS = ("session-start", "prompt", "stop")
_WITH_APPROVAL = ("about", "account", "base_url")


class FolderRules(NamedTuple):
    """What holds in a folder."""

    off: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    redact: tuple[str, ...] = ()
    about: str = ""
    account: str | None = None
    base_url: str | None = None
    unapproved: tuple[str, ...] = ()  # what its file says beside, and the person has not approved
    fault: str = ""  # what is wrong with the file; all is off then

    def tells(self, entity_type: str) -> bool:
        """Return whether an agent is told of a type: by default of all but those that the hooks store."""
        return entity_type in self.types if self.types else entity_type not in ("message", "conversation")


def rules_of(folder: Path) -> FolderRules:
    """Return the rules of the nearest file in a folder or above it. A file that is broken turns all off."""
    path = nearest(folder)
    if path is None:
        return FolderRules(about=folder.name)
    content = path.read_bytes()
    try:
        document = tomllib.loads(content.decode("utf-8-sig"))
        _check(document)
    except ValueError as exc:
        return FolderRules(frozenset(KINDS), fault=f"{path} is not valid, so hooks are off: {exc}")
    unapproved = [name for name in _WITH_APPROVAL if name in document]
    if kept(APPROVALS).get(str(path)) == hashlib.sha256(content).hexdigest():
        unapproved = []
    off = document.get("off", [])
    approved: Mapping[str, Any] = {} if unapproved else document
    return FolderRules(
        frozenset(KINDS if off is True else off or ()),
        frozenset(document.get("types", ())), tuple(document.get("redact", ())),
        approved.get("about", folder.name), approved.get("account"), approved.get("base_url"),
        tuple(unapproved),
    )  # fmt: skip


def _check(document: Mapping[str, Any]) -> None:
    """Check the values of a file; raises ValueError: one is of another form."""
    off = document.get("off", False)
    if not isinstance(off, bool) and not (isinstance(off, list) and all(kind in KINDS for kind in off)):
        raise ValueError(f"off is true, or a list of {', '.join(KINDS)}")
    for name in ("types", "redact"):
        value = document.get(name, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ValueError(f'{name} is a list of texts, such as {name} = ["person"]')
    for name in _WITH_APPROVAL:
        if not isinstance(document.get(name, ""), str):
            raise ValueError(f"{name} is a text")


def nearest(folder: Path) -> Path | None:
    """Return the file that holds for a folder, None if there is none."""
    path = hook_call.nearest(str(folder))
    return None if path is None else Path(path)


def approve(path: Path) -> None:
    keep(APPROVALS, str(path), hashlib.sha256(path.read_bytes()).hexdigest())
