"""Start at login: a unit of systemd or an agent of launchd of this user, a file that is taken out again.

systemd enables a unit by a link, which is made here too: no session bus is needed.
"""

from __future__ import annotations

import os
import plistlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphmem.cli.agents.agent_table import AgentFile
from graphmem.cli.agents.config_files import WholeFile
from graphmem.cli.agents.file_changes import change_file


def change_login(env: str, command: Sequence[str], *, undo: bool = False) -> dict[str, Any]:
    """Write the file with which `graphmem serve` starts at login, or take it out; return what became of it.

    ``command``: the command line of graphmem with its global options.
    """

    if sys.platform == "win32":
        return {"result": "refused", "why": "start at login is for Linux and macOS"}
    file = _login_file(env, [*command, "serve"])
    row = change_file("login", file, dry_run=False, undo=undo)
    if row["result"] != "refused" and sys.platform != "darwin":
        link = file.path.parent / "default.target.wants" / file.path.name
        link.unlink(missing_ok=True)
        if not undo:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file.path)
    text = {} if undo else {"text": file.edits[0].value}
    return {name: value for name, value in row.items() if name != "agent"} | text


def start_now(env: str) -> str:
    """Return the command line that starts what :func:`change_login` wrote, without a new login."""
    if sys.platform == "darwin":
        return f"launchctl load {_login_path(env)}"
    return f"systemctl --user daemon-reload && systemctl --user start {_login_path(env).stem}"


def _login_file(env: str, words: Sequence[str]) -> AgentFile:
    path = _login_path(env)
    if sys.platform == "darwin":
        job = {
            "Label": path.stem, "ProgramArguments": list(words), "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
        }  # fmt: skip
        text = plistlib.dumps(job).decode()
    else:
        unit = Path(__file__).with_name("graphmem.service").read_text("utf-8")
        text = unit.format(env=env, line=" ".join(map(_quoted, words)))
    return AgentFile(path, (WholeFile(text),))


def _login_path(env: str) -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "LaunchAgents" / f"io.graphmem.{env}.plist"
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    name = "graphmem" if env == "development" else f"graphmem-{env}"
    return Path(folder) / "systemd" / "user" / f"{name}.service"


def _quoted(word: str) -> str:
    """Return a word as systemd reads it: %, $, quotes and backslashes have a meaning there."""
    for sign, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        word = word.replace(sign, written)
    return f'"{word}"'
