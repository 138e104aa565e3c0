"""``graphmem server``: the local service, which holds the database for commands and MCP clients."""

from __future__ import annotations

from typing import Any

from graphmem.cli.session import Session, tell_progress

_SHOWN = (
    "pid", "version", "state", "doing", "database", "socket", "started_at", "idle_seconds",
    "requests", "serves",
)  # fmt: skip


def row(greeting: Any) -> dict[str, Any]:
    """Return what is shown of a service, by its greeting; None: there is none."""
    if greeting is None:
        return {"running": False}
    return {"running": True} | {name: greeting.get(name) for name in _SHOWN}


def start(session: Session) -> dict[str, Any]:
    from graphmem.service.calling import ensure

    return row(ensure(session.settings(), tell_progress))


def stop(session: Session) -> dict[str, Any]:
    from graphmem.service.calling import stop as stop_service
    from graphmem.service.place import is_locked, place

    settings = session.settings()
    where = place(settings)
    record = where.record()
    stopped = stop_service(settings)
    process = f"(process {record.get('pid')}) of {settings.data_path}"
    kind = "`graphmem serve`" if "serves" in record else "the local service"
    if stopped:
        message = f"stopped {kind} {process}; its database stays up"
    elif "serves" in record and is_locked(where):
        message = f"`graphmem serve` {process} runs on: stop it where it was started"
    else:
        message = f"no local service was running for {settings.data_path}"
    return {"stopped": stopped, "message": message}


def status(session: Session) -> dict[str, Any]:
    from graphmem.service.calling import greet
    from graphmem.service.place import place

    return row(greet(place(session.settings())))
