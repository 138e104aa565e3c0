"""``graphmem setup``: write graphmem into the configuration of agents, show it, and take it out again."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from graphmem.cli.agents.agent_table import Agent, AgentFile, Launch, SetupScope
from graphmem.cli.agents.file_changes import change_file, chosen_agents, print_files
from graphmem.cli.session import Session
from graphmem.errors import ConfigurationInvalid

ANSWER_SECONDS = 20.0  # seconds that a server of MCP may take for its first answer
CLIENT_SECONDS = 60.0  # seconds that an agent's own command may take

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "graphmem-setup", "version": "1"},
    },
}
"""The first message to a server of MCP."""


def checked(agents: Sequence[Agent], start: Launch) -> list[dict[str, Any]]:
    """Return a row for each file of the agents in which graphmem is or could be."""
    rows, answers = [], {}
    for agent in agents:
        places: tuple[tuple[SetupScope, Path], ...] = ("user", Path.home()), ("project", Path.cwd())
        for scope, root in places:
            if scope not in agent.row:
                continue
            server = agent.server(scope, root, start) if agent.can(scope, start) else None
            row = {"agent": agent.name, "scope": scope}
            if server is None or (scope == "project" and not server.path.exists()):
                continue
            state = _state(server, answers)
            is_asked = state.get("answers") == "yes" and scope == "user"
            client = _client_state(agent.row.get("ask", ()) if is_asked else ())
            rows.append({**row, "file": str(server.path), **state, **client})
            if agent.has_hooks:
                hooks = agent.hooks(scope, root, start)
                state = _state(hooks, None)
                if state["result"] != "not set up":
                    rows.append({**row, "file": str(hooks.path), **state, "hooks": True})
    return rows


def _state(file: AgentFile, answers: dict[str, str] | None) -> dict[str, Any]:
    try:
        current = file.current()
    except (OSError, ValueError) as exc:
        return {"result": "broken", "why": str(exc)}
    if all(each is None for each in current):
        return {"result": "not set up"}
    state = {"result": "set up" if current == [edit.value for edit in file.edits] else "set up otherwise"}
    if answers is None:
        return state
    line = _line(current[0])
    key = json.dumps(line)
    if key not in answers:
        answers[key] = _answer(line)
    return {**state, "answers": answers[key]}


def _client_state(ask: Sequence[str]) -> dict[str, str]:
    """Return whether the agent itself has graphmem, by its own command; nothing where that is not there."""
    if not ask or (program := shutil.which(ask[0])) is None:
        return {}
    try:
        done = subprocess.run(
            [program, *ask[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=CLIENT_SECONDS, text=True, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        return {"client": f"no: {type(exc).__name__}"}
    text = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    fault = re.search(r"^.*(?:fail|disabled|✗).*$", text, re.IGNORECASE | re.MULTILINE)
    if done.returncode == 0 and "graphmem" in text and fault is None:
        return {"client": "yes"}
    return {"client": f"no: {' '.join((fault[0] if fault else text[-200:]).split())[:200]}"}


def _line(entry: Any) -> list[str] | str:
    if isinstance(entry, str):
        import yaml

        entry = yaml.safe_load(entry)["mcpServers"][0]
    for name in ("url", "httpUrl", "serverUrl"):
        if name in entry:
            return str(entry[name])
    command = entry.get("command", "")
    return list(command) if isinstance(command, list) else [command, *entry.get("args", [])]


def _answer(line: list[str] | str) -> str:
    """Return ``yes``, or why graphmem does not answer."""
    if isinstance(line, str):
        import httpx

        accept = {"Accept": "application/json, text/event-stream"}
        try:
            status = httpx.post(line, json=HELLO, headers=accept, timeout=ANSWER_SECONDS).status_code
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            return f"no: {type(exc).__name__}"
        return "yes" if status == 200 else "yes, after a login" if status == 401 else f"no: HTTP {status}"
    try:
        process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as exc:
        return f"no: {line[0]}: {exc.strerror or exc}"
    timer = threading.Timer(ANSWER_SECONDS, process.kill)
    timer.start()
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(HELLO).encode() + b"\n")
            process.stdin.flush()
        first = process.stdout.readline()
        timer.cancel()
        process.kill()
    return "yes" if b'"serverInfo"' in first else "no: it ends, or says nothing, before it answers"


CHECK = "check"  # the word in place of agents that asks what is set up


def setup(
    session: Session, agents: list[str] | None = None, scope: SetupScope = "user", hooks: bool = False,
    dry_run: bool = False, undo: bool = False,
) -> dict[str, Any] | None:  # fmt: skip
    names = list(agents or ())
    is_check = names[:1] == [CHECK]
    chosen = chosen_agents(names[1:] if is_check else names)
    root = Path.home() if scope == "user" else Path.cwd()
    start = launch(session, is_shared=scope == "project")
    if is_check:
        return print_files(session, checked(chosen, start))
    rows = [row for agent in chosen for row in set_up(agent, scope, root, start, hooks, dry_run, undo)]
    print_files(session, rows)
    if any(row["result"] == "refused" for row in rows):
        raise typer.Exit(1)
    return None


def launch(session: Session, *, is_shared: bool = False) -> Launch:
    """Return how an agent reaches what this command works on. ``is_shared``: for a file of a project."""

    settings = session.settings()
    options = ["--env", settings.env] if settings.env != "development" else []
    if settings.data_dir is not None:
        options += ["--data-dir", str(settings.data_dir.expanduser().resolve())]
    url = None
    if settings.base_url is not None:
        if "@" in settings.base_url:
            raise ConfigurationInvalid(
                "the address has a password in it: leave it out, the agent logs in itself"
            )
        options = ["--base-url", settings.base_url]
        url = f"{settings.base_url.rstrip('/')}/mcp"
    return Launch((*_program(is_shared), *options), session.account, url)


def _program(is_shared: bool) -> list[str]:
    """Return the command line of graphmem: with its path, because agents often lack that of a shell."""
    if is_shared:
        return ["graphmem"]
    beside = Path(sys.executable).parent / "graphmem"
    # uvx runs a program from its cache, where it may be removed.
    if re.search(r"/(archive|environments)-v\d+/", beside.as_posix()):
        return [shutil.which("uvx") or "uvx", "graphmem"]
    return [str(beside) if beside.exists() else shutil.which("graphmem") or "graphmem"]


def set_up(
    agent: Agent, scope: SetupScope, root: Path, start: Launch, hooks: bool, dry_run: bool, undo: bool
) -> Iterator[dict[str, Any]]:
    if not agent.can(scope, start):
        where = "a service: add its address in the agent's own settings" if start.url else "projects"
        if not undo:
            yield {"agent": agent.name, "result": "left out", "why": f"it has no file for {where}"}
        return
    files = [agent.server(scope, root, start)]
    own = agent.hooks(scope, root, start) if agent.has_hooks else None
    # Hooks that are there stay.
    if own is not None and (hooks or undo or _state(own, None)["result"].startswith("set up")):
        is_one = own.path == files[0].path
        files = [AgentFile(own.path, (*files[0].edits, *own.edits))] if is_one else [*files, own]
    for file in files:
        yield change_file(agent.name, file, dry_run, undo)
