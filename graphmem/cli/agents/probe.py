"""What is set up in which agent, and whether graphmem answers there."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphmem.cli.agents.agent_table import Agent, AgentFile, Launch, SetupScope

ANSWER_SECONDS = 20.0
"""Seconds that a server of MCP may take for its first answer."""

_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "graphmem-setup", "version": "1"},
    },
}


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
            rows.append({**row, "file": str(server.path), **_state(server, answers)})
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
    state = {"result": "set up" if current == file.expected else "set up otherwise"}
    if answers is None:
        return state
    line = _line(current[0])
    key = json.dumps(line)
    if key not in answers:
        answers[key] = _answer(line)
    return {**state, "answers": answers[key]}


def _line(entry: Any) -> list[str] | str:
    """Return the command line, or the address, that an entry names."""
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
            status = httpx.post(line, json=_HELLO, headers=accept, timeout=ANSWER_SECONDS).status_code
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
            process.stdin.write(json.dumps(_HELLO).encode() + b"\n")
            process.stdin.flush()
        first = process.stdout.readline()
        timer.cancel()
        process.kill()
    return "yes" if b'"serverInfo"' in first else "no: it ends, or says nothing, before it answers"
