"""The agents that `graphmem setup` knows: what ``agent_table.toml`` says of each, for this machine."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from graphmem import tables
from graphmem.cli.agents.config_files import Edit, MarkdownBlock, TomlEntry, WholeFile
from graphmem.cli.agents.jsonc_edit import JsonEntry

SetupScope = Literal["user", "project"]
NAME = "graphmem"
TEXT = Path(__file__).parent / "instructions.md"  # what agents are told in their files of instructions
WRITTEN = "Written by `graphmem setup`; `graphmem setup --undo` removes it."
EVENTS = ("session-start", "prompt", "stop")


class Launch(NamedTuple):
    """How an agent reaches graphmem: by a command that it starts, or at the address of a service."""

    command: tuple[str, ...]  # the program and its global options, such as ``("graphmem", "--env", "demo")``
    account: str | None = None  # the account that acts, None for the local one
    url: str | None = None  # the address of MCP at a service; the program is then for hooks only

    def line(self, *words: str) -> list[str]:
        account = () if self.account is None else ("--account", self.account)
        return [*self.command, *account, *words]


class AgentFile(NamedTuple):
    """A file in which graphmem has entries of one agent, and these entries."""

    path: Path
    edits: tuple[Edit, ...]

    def current(self) -> list[Any]:
        """Return what the file has for each entry, None for nothing.

        Raises OSError, ValueError: it is broken.
        """
        text = self.path.read_bytes().decode() if self.path.exists() else ""
        return [edit.value_in(text) if text.strip() else None for edit in self.edits]


class Agent(NamedTuple):
    name: str
    row: Mapping[str, Any]

    @property
    def has_hooks(self) -> bool:
        return "hooks" in self.row

    def is_installed(self, home: Path) -> bool:
        """Return whether there is a trace of it under the home directory."""
        user = _by_platform(self.row["user"])
        own = user if isinstance(user, str) else user[-1]
        found_by = self.row.get("found_by", [str(Path(own).parent)])
        return any(self._placed(each, home).exists() for each in found_by)

    def can(self, scope: SetupScope, start: Launch) -> bool:
        return scope in self.row and ("local" if start.url is None else "remote") in self.row

    def server(self, scope: SetupScope, root: Path, start: Launch) -> AgentFile:
        """Return the place of its entry for MCP. ``root``: the home directory, or that of the project."""
        row = self.row
        path = self._path(row[scope], scope, root)
        command, *arguments = start.line("mcp")
        values = {
            "$command": command, "$args": arguments, "$line": [command, *arguments], "$url": start.url
        }  # fmt: skip
        value = _filled(row["local" if start.url is None else "remote"], values)
        if row["format"] == "yaml-file":
            import yaml

            content = {**row["around"], row["path"][0]: [value]}
            text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
            return AgentFile(path, (WholeFile(f"# {WRITTEN}\n{text}"),))
        if row["format"] == "toml":
            return AgentFile(path, (TomlEntry((*row["path"], NAME), value),))
        older = tuple(row.get("older_path", ()))
        return AgentFile(path, (JsonEntry(_in_use(path, older) or tuple(row["path"]), value, NAME),))

    def hooks(self, scope: SetupScope, root: Path, start: Launch) -> AgentFile:
        hooks = self.row["hooks"]
        path = self._path(hooks[scope], scope, root)
        if "whole" in hooks:
            template = (Path(__file__).parent / hooks["whole"]).read_text("utf-8")
            line = json.dumps(start.line("hook"))
            return AgentFile(path, (WholeFile(template.replace("$LINE", line).replace("$WRITTEN", WRITTEN)),))
        edits = [JsonEntry((), value, key, is_default=True) for key, value in hooks.get("also", {}).items()]
        for event in EVENTS:
            words = ("hook", event, "--agent", self.name)
            value = _filled(hooks["entry"], {"$hook": shlex.join(start.line(*words))})
            edits.append(JsonEntry((*hooks["path"], hooks["events"][event]), value, mark=shlex.join(words)))
        return AgentFile(path, tuple(edits))

    def instructions(self, scope: SetupScope, root: Path) -> AgentFile | None:
        row = self.row.get("instructions", {})
        if scope not in row:
            return None
        block = MarkdownBlock(TEXT.read_text("utf-8"), row.get("front", "") if scope == "project" else "")
        return AgentFile(self._path(row[scope], scope, root), (block,))

    def _path(self, value: Any, scope: SetupScope, root: Path) -> Path:
        """Return the first of some files that is there, else the last."""
        names = _by_platform(value)
        names = [names] if isinstance(names, str) else names
        paths = [self._placed(name, root) if scope == "user" else root / name for name in names]
        return next((path for path in paths if path.exists()), paths[-1])

    def _placed(self, name: str, root: Path) -> Path:
        """Return where a file of the user is: the environment may name another folder for it."""
        variable, folder = self.row.get("home", ("", ""))
        if elsewhere := os.environ.get(variable):
            return Path(elsewhere).expanduser() / f"{name}/".removeprefix(f"{folder}/")
        elsewhere = os.environ.get("XDG_CONFIG_HOME")
        if elsewhere and name.startswith(".config/"):
            return Path(elsewhere).expanduser() / name.removeprefix(".config/")
        return root / name


@cache
def agents() -> Mapping[str, Agent]:
    return {name: Agent(name, row) for name, row in tables.read("cli/agents/agent_table").items()}


def _by_platform(value: Any) -> Any:
    return value.get(sys.platform, value["linux"]) if isinstance(value, dict) else value


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(template, dict):
        return {name: _filled(value, values) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, values) for value in template]
    return values.get(template, template) if isinstance(template, str) else template


def _in_use(path: Path, older: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the path of earlier versions where the file has servers there, and none at that of today."""
    try:
        entry = JsonEntry(older[:-1], None, older[-1]).value_in(path.read_text("utf-8")) if older else None
    except (OSError, ValueError):
        return None
    if not isinstance(entry, dict) or "servers" in entry:
        return None
    return older if any("type" in each for each in entry.values()) else None
